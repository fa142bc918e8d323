"""What a real model says passes through everything: HTTP, schemas, checks, figures.

Nothing here depends on how clever the model is: what it says may be wrong, what is made of it may
not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.plugin.conftest import Shop, persona

from .conftest import NAME

pytestmark = pytest.mark.local_llm

MOST = 30  # characters
LONG = "Tell me in two sentences what a lamp is."
DIALOGUES = {
    "free": [("user", "What does the upgrade cost?"), ("assistant", "Nothing, it is free.")],
    "paid": [("user", "Is the upgrade free?"), ("assistant", "No, it costs 20 euros.")],
    "zh": [("user", "升级要钱吗？"), ("assistant", "您好，升级是免费的。")],
}


def model(base_url: str, **keys: Any) -> dict[str, Any]:
    return {"model": f"openai:{NAME}@{base_url}", "temperature": 0, "concurrency": 1, **keys}


def accounted(shop: Shop, planned: int) -> None:
    """Every trial has one outcome, and every rubric of it one verdict."""
    summary = shop.summary
    assert sum(summary["outcomes"].values()) == planned
    assert sum(each["trials"] for task in summary["tasks"] for each in task["agents"]) == planned
    rubrics = [
        each for task in summary["tasks"] for agent in task["agents"] for each in agent["rubrics"]
    ]
    assert rubrics
    for each in rubrics:
        assert each["n"] + each["not_applicable"] + each["unscored"] == planned


def turns(shop: Shop) -> dict[str, dict[int, dict[str, Any]]]:
    """Trial -> id -> turn."""
    return {
        events[0]["trial_id"]: {each["id"]: each for each in events if each["event"] == "turn"}
        for events in shop.traces()
    }


def verdicts(shop: Shop) -> Iterator[tuple[str, dict[str, Any]]]:
    """Trial and verdict, as the ledger has them."""
    for path in shop.last_run.glob("ledger.*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)["entry"]
            if entry["kind"] == "verdict":
                yield entry["trial"], entry["value"]


def test_it_plays_the_agent(shop: Shop, base_url: str) -> None:
    shop.suite(
        task={"id": "shop", "max_rounds": 3, "prompt": "You sell lamps. You are polite."},
        agents={"real": {"use": f"openai:{NAME}@{base_url}", "temperature": 0, "max_tokens": 60}},
        personas=[persona("asks", LONG, "Thank you. Bye."), persona("greets", "Hello?", "Bye.")],
        rubrics=[
            {"id": "brief", "dimension": "robustness", "length": {"max_chars": MOST}},
            {"id": "language", "dimension": "robustness", "language": {"is": "en"}},
        ],
    )

    shop.run()

    accounted(shop, planned=2)
    assert shop.summary["outcomes"]["completed"] == 2
    found = dict.fromkeys(turns(shop), "")
    for trial, verdict in verdicts(shop):
        if verdict["rubric"] == "brief":
            found[trial] = verdict["status"]
    for trial, said in turns(shop).items():
        longest = max(len(each["text"]) for each in said.values() if each["speaker"] == "agent")
        assert found[trial] == ("failed" if longest > MOST else "passed")
    assert "failed" in found.values(), "two sentences in 30 characters"
    [usage] = shop.summary["usage"]
    assert (usage["role"], usage["calls"], usage["failed"]) == ("agent", 4, 0)
    assert usage["output_tokens"] > 0


def test_it_judges_and_every_quote_stands(shop: Shop, base_url: str) -> None:
    lines = [
        {"task_id": name, "messages": [{"role": role, "content": text} for role, text in said]}
        for name, said in DIALOGUES.items()
    ]
    shop.write("talks.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    shop.suite(
        task={"id": "talks"},
        agents=None,
        personas=None,
        transcripts=[{"format": "openai", "path": "talks.jsonl", "agent": "clerk"}],
        models={"judge": model(base_url, max_tokens=300)},
        rubrics=[
            {
                "id": "free",
                "dimension": "completion",
                "judge": "the agent said that the upgrade is free",
            }
        ],
    )

    shop.run()

    accounted(shop, planned=len(DIALOGUES))
    found = list(verdicts(shop))
    assert len(found) == len(DIALOGUES)
    for trial, verdict in found:
        said = [text for _, text in DIALOGUES[trial.split(".")[2].removesuffix("-1")]]
        assert verdict["status"] in ("passed", "failed", "unscored")
        assert verdict["status"] == "unscored" or verdict["evidence"] or verdict["searched"]
        for each in verdict["evidence"]:
            assert each["quote"]
            assert each["quote"] in said[each["turn"] - 1]
    assert shop.summary["usage"][0]["failed"] == 0


def test_it_plays_the_user(shop: Shop, base_url: str) -> None:
    buyer = {
        "id": "buyer",
        "personality": "brief and friendly",
        "script": {
            "states": {
                "start": {
                    "goal": "ask whether they have a lamp",
                    "say": ["Have you got a lamp?"],
                    "next": [{"to": "bye"}],
                },
                "bye": {"goal": "thank them and leave", "say": ["Thanks, bye."], "end": True},
            }
        },
    }
    shop.suite(personas=[buyer], models={"user": model(base_url, max_tokens=150)})

    shop.run()

    accounted(shop, planned=1)
    [agent] = shop.summary["tasks"][0]["agents"]
    played, [said] = agent["simulator"], turns(shop).values()
    lines = [each for each in said.values() if each["speaker"] == "user"]
    assert shop.summary["outcomes"]["completed"] == 1
    assert played["lines"] + played["template"] == len(lines) == 2
    assert played["asked_again"] == sum(played["reasons"].values())
    assert all(each["text"].strip() for each in lines)
