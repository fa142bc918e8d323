"""Rubric items are pytest functions: marks of a conftest and autouse fixtures hold for them."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

MARKING = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "farm":
            item.add_marker(pytest.mark.{mark})
"""


@pytest.fixture
def marked(shop: Shop) -> Shop:
    shop.suite(rubrics=[rubric("greet"), rubric("farm", "tractor")])
    return shop


def test_an_item_skipped_by_a_mark_is_no_failure_and_it_is_said(marked: Shop) -> None:
    marked.write("conftest.py", MARKING.format(mark="skip(reason='later')"))

    result = marked.run()

    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["1 item was skipped by a mark or a fixture; figures count it as it is"]
    )


def test_a_mark_of_the_users_own_selects(marked: Shop) -> None:
    marked.pytester.makeini("[pytest]\nmarkers =\n    nightly: at night\n")
    marked.write("conftest.py", MARKING.format(mark="nightly"))

    marked.run("-m", "not nightly").assert_outcomes(passed=1, deselected=1)


def test_autouse_fixtures_surround_each_item(marked: Shop) -> None:
    marked.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def around(request):
            with open("log", "a") as log:
                log.write(f"in:{request.node.name} ")
            yield
            with open("log", "a") as log:
                log.write("out ")
        """,
    )

    marked.run().assert_outcomes(passed=1, failed=1)

    log = (marked.path / "log").read_text(encoding="utf-8")
    assert log.split() == ["in:greet", "out", "in:farm", "out"]


def test_a_fixture_that_skips_is_no_failure(marked: Shop) -> None:
    marked.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True)
        def only_greetings(request):
            if request.node.name != "greet":
                pytest.skip("not today")
        """,
    )

    result = marked.run()

    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == 0


def test_a_fixture_that_fails_is_an_error_that_says_nothing_of_an_agent(marked: Shop) -> None:
    marked.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef broken():\n    raise OSError('no')\n",
    )

    result = marked.run()

    result.assert_outcomes(errors=2)
    assert result.ret == 10


def test_teardown_that_fails_is_an_error_beside_the_verdict(marked: Shop) -> None:
    marked.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef broken():\n"
        "    yield\n    raise OSError('no')\n",
    )

    result = marked.run()

    result.assert_outcomes(passed=1, failed=1, errors=2)
    assert marked.summary["verdicts"]["passed"] == 1


def test_items_know_their_marks_and_their_place(marked: Shop) -> None:
    [greet, _] = marked.items()

    mark = greet.get_closest_marker("dialeval")

    assert mark is not None
    assert mark.kwargs == {
        "dimension": "completion",
        "severity": "hard",
        "method": "keyword",
        "persona": "buyer",
        "agent": "clerk",
    }
    assert [each.name for each in greet.listchain()[-3:]] == [
        "shop.dialeval.yaml",
        "buyer-1",
        "greet",
    ]
