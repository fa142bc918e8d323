"""Every item points at the line where its rubric is written."""

from __future__ import annotations

import json

import pytest

from .conftest import Shop, rubric


def test_an_item_stands_at_its_rubrics_line(shop: Shop) -> None:
    suite = shop.suite(rubrics=[rubric("first"), rubric("second")])

    for name, item in zip(("first", "second"), shop.items(), strict=True):
        path, line, _ = item.reportinfo()
        assert path == suite
        assert line == shop.line_of(suite.name, f'"id": "{name}"') - 1
        assert item.location[0] == "shop.dialeval.yaml"


def test_the_heading_of_an_item_is_trial_and_rubric(shop: Shop) -> None:
    shop.suite()

    [item] = shop.items()

    assert item.location[2] == "buyer-1 greet"


def test_an_included_rubric_stands_in_its_own_file(shop: Shop) -> None:
    included = shop.write(
        "parts/manners.yaml",
        """
        rubrics:
          - {id: own, dimension: completion, keyword: {any: [Hello]}}
          - {id: thanks, dimension: robustness, keyword: {any: [welcome]}}
        """,
    )
    shop.suite(include=["parts/manners.yaml"])

    found = {item.name: item.reportinfo()[:2] for item in shop.items()}

    assert found["own"] == (included, 2)
    assert found["thanks"] == (included, 3)
    assert found["greet"][0].name == "shop.dialeval.yaml"


def test_included_items_keep_the_suites_node_id(shop: Shop) -> None:
    shop.write(
        "manners.yaml",
        "rubrics:\n  - {id: thanks, dimension: completion, keyword: {any: [welcome]}}\n",
    )
    shop.suite(include=["manners.yaml"])

    assert "shop.dialeval.yaml::buyer-1::thanks" in shop.ids()


def test_a_score_item_stands_in_its_suite(shop: Shop) -> None:
    suite = shop.suite(scoring={"pass": 0.5})

    path, line, name = shop.items()[-1].reportinfo()

    assert (path, name) == (suite, "buyer-1 score")
    assert line is not None
    assert 0 <= line < len(suite.read_text(encoding="utf-8").splitlines())


def test_each_item_is_located_as_pytest_would(shop: Shop) -> None:
    """Ours looks a file's short name up once; every item of every file must still get its own."""
    shop.write("parts/manners.yaml", f"rubrics:\n  - {json.dumps(rubric('thanks', 'welcome'))}\n")
    sections = {"include": ["parts/manners.yaml"], "scoring": {"pass": 0.5}, "trials": 2}
    shop.suite(rubrics=[rubric("first"), rubric("second")], **sections)
    shop.suite("other", **sections)

    for item in shop.items():
        assert item.location == pytest.Item.location.func(item)  # type: ignore[attr-defined]
