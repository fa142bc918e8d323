"""200 real conversations of an airline's agent: the published figures, beside soft matchers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Shop

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tau"
PASS_HAT = [0.42, 0.273, 0.22, 0.2]
PASS_AT = [0.42, 0.567, 0.66, 0.72]


def soft(name: str, **method: Any) -> dict[str, Any]:
    return {"id": name, "dimension": "robustness", "severity": "soft", **method}


SOFT = [
    soft("no_template", placeholder={}),
    soft("no_repetition", repetition={}),
    soft("short", length={"max_words": 120, "tolerance": 0.1}),
    soft("english", language={"is": "en"}),
    soft("looked_up", tool_called={"name": "get_user_details"}),
    soft("no_promise", blacklist={"phrases": ["I guarantee"], "unless_negated": True}),
    soft("greets", keyword={"any": ["hello", "hi", "help"], "turns": "first"}),
    soft("no_shouting", **{"not": {"regex": "!{3,}"}}),
]
REWARD = {"id": "reward", "dimension": "completion", "recorded": {"field": "reward", "min": 1}}


def recorded(shop: Shop, format: str, name: str, **sections: Any) -> None:
    path = DATA / name
    if not path.is_file():
        pytest.skip("../shared is not here")
    shop.suite(
        agents=None,
        personas=None,
        transcripts=[{"format": format, "path": str(path)}],
        scoring={"pass_on": "reward"},
        **sections,
    )


def test_the_airlines_pass_k_is_the_published_one_and_every_matcher_decides(shop: Shop) -> None:
    recorded(shop, "tau-bench", "tau1_gpt-4o-airline_50x4.json", rubrics=[REWARD, *SOFT])

    result = shop.run("-q", "--tb=no", "-r", "N")

    figures = shop.agent_figures()
    assert (figures["cases"], figures["trials"], figures["passed"]) == (50, 200, 84)
    hat = [each["value"] for each in figures["pass_hat_k"].values()]
    at = [each["value"] for each in figures["pass_at_k"].values()]
    assert [round(each, 3) for each in hat] == PASS_HAT
    assert [round(each, 3) for each in at] == PASS_AT
    assert sum(shop.summary["outcomes"].values()) == 200
    assert result.ret == 1  # 116 conversations failed their recorded reward
    rubrics = {each["id"]: each for each in figures["rubrics"]}
    assert len(rubrics) == 1 + len(SOFT)
    assert all(each["n"] + each["not_applicable"] == 200 for each in rubrics.values())
    result.stdout.fnmatch_lines(["shop *recorded *50 *200 *0.420 *0.273 *0.220 *0.200*"])


TAU2 = ["tau2_gpt-4.1_retail_40x1.json", "tau2_gpt-4.1_telecom-no-user_5x4.json"]


def rewards(name: str) -> dict[str, list[float]]:
    """Task id -> rewards, straight from a tau2 file."""
    document = json.loads((DATA / name).read_text(encoding="utf-8"))
    found: dict[str, list[float]] = {}
    for each in document["simulations"]:
        found.setdefault(each["task_id"], []).append(each["reward_info"]["reward"])
    return found


@pytest.mark.parametrize("name", TAU2)
def test_tau2_files_give_the_rewards_that_stand_in_them(shop: Shop, name: str) -> None:
    recorded(shop, "tau2", name, rubrics=[REWARD, *SOFT])

    shop.run("-q", "--tb=no", "-r", "N")

    figures, known = shop.agent_figures(), rewards(name)
    rates = [sum(each >= 1 for each in found) / len(found) for found in known.values()]
    assert (figures["cases"], figures["trials"]) == (len(known), sum(map(len, known.values())))
    assert figures["pass_hat_k"]["1"]["value"] == pytest.approx(sum(rates) / len(rates))
    assert figures["unmeasured"] == 0
