"""Models played by objects in the suite's folder, which write down what they are asked."""

from __future__ import annotations

import json
from typing import Any

from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.record import read_facts

from .conftest import Shop

# A criterion names its word in quotes: met where the agent says it. `<word>?` cannot be told.
CLIENT = """
import asyncio
import json
import re
from pathlib import Path

from pytest_dialeval.records.model import ChatAnswer
from pytest_dialeval.records.transcript import Usage

HERE = Path(__file__).parent


class Judge:
    def __init__(self, name):
        self.name = name

    async def chat(self, call, *, deadline):
        said = [self.name, call.spec.model, call.case, call.trial, call.purpose]
        with (HERE / "calls.jsonl").open("a") as log:
            log.write(json.dumps(said) + "\\n")
        reply = self.line(call) if call.spec.role == "user" else self.verdict(call)
        return ChatAnswer(
            json.dumps(reply),
            usage=Usage(input_tokens=100, output_tokens=10),
            model="judge-2026",
        )

    def line(self, call):
        number = int(re.search(r"\\d+", call.purpose)[0])
        said = f"Is the lamp in stock, I ask for time {number}?"
        return {"say": said, "done": number > 1, "note": ""}

    def verdict(self, call):
        text = call.messages[-1]["content"]
        word = re.search(r'criterion.*\\n.*"(.*?)"', text)[1]
        reply = {"reasoning": "read", "verdict": "not_met", "evidence": [], "absence": True}
        if word.endswith("?"):
            return {**reply, "verdict": "cannot_tell"}
        for turn, said in re.findall(r"turn (\\d+), agent\\n(.*)", text):
            if word in said:
                quote = {"turn_id": int(turn), "quote": word}
                return {**reply, "verdict": "met", "evidence": [quote], "absence": False}
        return reply


judge = Judge("judge")
other = Judge("other")
"""
JUDGE = "python:client.py:judge:fake-1"


def judged(name: str, word: str = "Hello", **keys: Any) -> dict[str, Any]:
    """A rubric that the judge passes where the agent says the word."""
    more = keys.pop("judge", {})
    asked = {"criterion": f'the agent says "{word}"', **more}
    return {"id": name, "dimension": "completion", "judge": asked, **keys}


def play(shop: Shop, name: str = "shop", **sections: Any) -> None:
    """A suite whose judge is the double."""
    shop.write("client.py", CLIENT)
    given = {"models": {"judge": JUDGE}, "rubrics": [judged("greet")], **sections}
    shop.suite(name, **given)


def calls(shop: Shop) -> list[list[Any]]:
    """What the doubles were asked since forget(): name, model, case, trial, purpose."""
    log = shop.path / "calls.jsonl"
    return [json.loads(each) for each in log.read_text().splitlines()] if log.exists() else []


def forget(shop: Shop) -> None:
    """Nothing was asked."""
    (shop.path / "calls.jsonl").unlink(missing_ok=True)


def usage(shop: Shop, role: str = "judge") -> Any:
    """The summary's figure of a role."""
    [found] = [each for each in shop.summary["usage"] if each["role"] == role]
    return found


def verdicts(shop: Shop) -> dict[str, Verdict]:
    """What the last run's ledgers hold, by trial and rubric."""
    facts = read_facts(RunDirectory(shop.last_run))
    return {
        f"{trial} {name}": verdict
        for trial, each in sorted(facts.items())
        for name, verdict in sorted(each.verdicts.items())
    }
