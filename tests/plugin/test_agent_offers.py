"""Agents that a suite does not declare: the fixture `dialeval_agent`, the hook, or a clear no."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

FIXTURE = """
import pytest

@pytest.fixture{scope}
def dialeval_agent():
    with open({log!r}, "a") as log:
        log.write("made\\n")
    yield lambda message: {answer!r}
    with open({log!r}, "a") as log:
        log.write("gone\\n")
"""


def fixture(
    shop: Shop, scope: str = "", *, folder: str = ".", answer: str = "Hello", log: str = "log"
) -> None:
    given = f'(scope="{scope}")' if scope else ""
    text = FIXTURE.format(scope=given, answer=answer, log=str(shop.path / log))
    shop.write(f"{folder}/conftest.py", text)


def logged(shop: Shop, log: str = "log") -> list[str]:
    return (shop.path / log).read_text(encoding="utf-8").split()


def test_a_fixture_brings_the_agent(shop: Shop) -> None:
    shop.suite(agents=None)
    fixture(shop)

    shop.run().assert_outcomes(passed=1)

    assert shop.agent_figures()["name"] == "fixture"


def test_its_name_is_not_shown_in_node_ids(shop: Shop) -> None:
    shop.suite(agents=None)
    fixture(shop)

    assert shop.ids() == ["shop.dialeval.yaml::buyer-1::greet"]


@pytest.mark.parametrize(
    ("scope", "times"),
    [("session", 1), ("module", 1), ("function", 4)],
)
def test_fixtures_of_any_scope_are_made_and_torn_down(shop: Shop, scope: str, times: int) -> None:
    shop.suite(agents=None, rubrics=[rubric("one"), rubric("two")], trials=2)
    fixture(shop, scope)

    shop.run().assert_outcomes(passed=4)

    assert logged(shop) == ["made", "gone"] * times


def test_a_module_fixture_is_made_once_a_suite(shop: Shop) -> None:
    shop.suite("one", agents=None)
    shop.suite("two", agents=None)
    fixture(shop, "module")

    shop.run().assert_outcomes(passed=2)

    assert logged(shop) == ["made", "gone"] * 2


@pytest.mark.parametrize("scope", ["session", "module", "function"])
def test_two_folders_meet_two_agents(shop: Shop, scope: str) -> None:
    shop.suite("polite/shop", agents=None, trials=3)
    shop.suite("rude/shop", agents=None, trials=3)
    fixture(shop, scope, folder="polite", answer="Hello", log="polite.log")
    fixture(shop, scope, folder="rude", answer="What now?", log="rude.log")

    shop.run().assert_outcomes(passed=3, failed=3)

    passed = {each["source"]: each["agents"][0]["passed"] for each in shop.summary["tasks"]}
    assert passed == {"polite/shop.dialeval.yaml": 3, "rude/shop.dialeval.yaml": 0}


def test_the_nearer_fixture_wins(shop: Shop) -> None:
    shop.suite("near/shop", agents=None)
    fixture(shop, "session", answer="What now?", log="far.log")
    fixture(shop, "session", folder="near", log="near.log")

    shop.run().assert_outcomes(passed=1)

    assert not (shop.path / "far.log").exists()


def test_a_session_agent_outlives_all_conversations(shop: Shop) -> None:
    shop.suite(agents=None, trials=4)
    shop.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(scope="session")
        def dialeval_agent():
            open_ = [True]

            def agent(message):
                assert open_[0], "torn down"
                return "Hello"

            yield agent
            open_[0] = False
        """,
    )

    shop.run().assert_outcomes(passed=4)


def test_a_fixture_may_give_a_class_of_one_object_a_conversation(shop: Shop) -> None:
    shop.suite(agents=None, trials=3, rubrics=[rubric("count", "Hello 1")])
    shop.write(
        "conftest.py",
        """
        import pytest

        class Counting:
            def __init__(self):
                self.calls = 0

            async def reply(self, message):
                self.calls += 1
                return f"Hello {self.calls}"

        @pytest.fixture(scope="session")
        def dialeval_agent():
            return Counting
        """,
    )

    shop.run().assert_outcomes(passed=3)


def test_a_fixture_that_gives_no_agent_is_unmeasured(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write(
        "conftest.py", "import pytest\n\n@pytest.fixture\ndef dialeval_agent():\n    return 7\n"
    )

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *7* (harness_error)"])


def test_a_fixture_that_raises_is_an_error_in_setup(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture\ndef dialeval_agent():\n    raise OSError('no model')\n",
    )

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E*OSError: no model"])


def test_a_declared_agent_goes_before_the_fixture(shop: Shop) -> None:
    shop.suite()
    fixture(shop, answer="What now?")

    shop.run().assert_outcomes(passed=1)

    assert not (shop.path / "log").exists()


HOOK = """
def pytest_dialeval_agents(config):
    return {{{0}}}
"""
POLITE = '"polite": lambda message: "Hello"'
RUDE = '"rude": lambda message: "What now?"'


def test_the_hook_brings_agents_by_name(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write("conftest.py", HOOK.format(f"{POLITE}, {RUDE}"))

    assert shop.ids() == [
        "shop.dialeval.yaml::polite-buyer-1::greet",
        "shop.dialeval.yaml::rude-buyer-1::greet",
    ]
    shop.run().assert_outcomes(passed=1, failed=1)


def test_agents_of_the_hook_are_chosen_by_option(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write("conftest.py", HOOK.format(f"{POLITE}, {RUDE}"))

    shop.run("--dialeval-agent", "rude").assert_outcomes(failed=1)


def test_a_suite_may_use_an_agent_of_the_hook(shop: Shop) -> None:
    shop.suite(agents={"clerk": {"use": "polite", "version": "7"}})
    shop.write("conftest.py", HOOK.format(f"{POLITE}, {RUDE}"))

    shop.run().assert_outcomes(passed=1)

    assert (shop.agent_figures()["name"], shop.agent_figures()["agent_version"]) == ("clerk", "7")


def test_the_fixture_goes_before_the_hook(shop: Shop) -> None:
    shop.suite(agents=None)
    fixture(shop)
    conftest = shop.path / "conftest.py"
    conftest.write_text(conftest.read_text(encoding="utf-8") + HOOK.format(RUDE), encoding="utf-8")

    shop.run().assert_outcomes(passed=1)


def test_one_name_from_two_hooks_is_refused(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write("conftest.py", HOOK.format(POLITE))
    shop.write("second.py", HOOK.format(POLITE))
    shop.pytester.syspathinsert()

    result = shop.run("-p", "second")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["pytest_dialeval_agents: 'polite' is given twice; rename one of them"]
    )


def test_without_any_agent_the_message_names_every_way_out(shop: Shop) -> None:
    shop.suite(agents=None)

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "shop.dialeval.yaml:1: no agent to talk to; declare `agents:`, write a "
            "`dialeval_agent` fixture or a pytest_dialeval_agents hook, or give "
            "--dialeval-agent NAME=SPEC (openai:MODEL, python:file.py:object, ...)"
        ]
    )
