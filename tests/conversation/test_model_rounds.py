"""A model that words follow-ups: what it is shown and what not, and what its reply becomes."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_dialeval.conversation.asking import Asking
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.model_rounds import model_rounds_simulator
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.rounds_user import RoundsUser
from pytest_dialeval.errors import ProviderFault
from pytest_dialeval.models.cassette import NONCE
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.follow_up import Anchor, Behaviour, Profile, Rounds
from pytest_dialeval.records.model import ChatCall
from pytest_dialeval.records.task import Noise, Persona, Script, Task
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.records.work import Check, Done, RoundWork
from tests.conversation.model_stage import SPEC, Model, content
from tests.conversation.stage import MATCHERS

NAG = Behaviour("nag", "ask what was run", {"en": ("What did you run?",)})
ANCHORS = {3: Anchor("Use Decimal.", "see whether it obeys at once", "it changes every float")}
PROFILE = Profile("p", "You are curt.", {"nag": 1}, repeats=True)
ROUNDS = Rounds("Fix the cart.", PROFILE, {"nag": NAG})
WHO = Persona("p", Script({}), personality="Ann, who maintains it", traits={"age": "30"})
FENCED = "Write this:\n```python\nreturn 0\n```"


def reply(line: str) -> str:
    return json.dumps({"say": line, "note": "n"})


def numbered(call: ChatCall) -> str:
    number = re.search(r"\d+", call.purpose)
    assert number
    return reply(f"Please show me what you ran in round {number[0]}.")


def simulator(model: Any, limit: int | None = None) -> Any:
    return model_rounds_simulator(Asking(model, SPEC, "c", 1, limit, 30))


def held(
    model: Any,
    rounds: Rounds = ROUNDS,
    *,
    agent: object = lambda message: f"I heard {len(message)} letters.",
    who: Persona = WHO,
    seed: str = "s",
    last: int = 4,
    **keys: Any,
) -> Transcript:
    return asyncio.run(
        converse(
            Task("t", rounds=rounds, max_rounds=last, prompt="the agent's own orders", **keys),
            who,
            adapt(agent, name="a"),
            draw=Draw(seed, "t", "p", 1),
            matchers=MATCHERS,
            simulator=simulator(model),
        )
    )


def said(found: Transcript) -> list[str]:
    return [each.text for each in found.turns if each.speaker == "user"]


def test_the_model_finds_the_words_of_drawn_rounds_alone() -> None:
    model = Model(by=numbered)
    found = held(model, replace(ROUNDS, anchors=ANCHORS))
    assert model.purposes == ["turn 2", "turn 4"]
    assert said(found) == [
        "Fix the cart.",
        "Please show me what you ran in round 2.",
        "Use Decimal.",
        "Please show me what you ran in round 4.",
    ]
    assert [each.state for each in found.turns][::2] == ["request", "nag", "anchor", "nag"]
    assert found.fidelity == {"lines": 2}


def test_what_it_is_told_and_what_not() -> None:
    model = Model(by=numbered)
    held(model, replace(ROUNDS, anchors=ANCHORS), agent=lambda message: "I changed the sum.")
    first, last = model.calls
    system, text = content(first, 0), content(first)
    assert "You are curt." in system
    assert "Ann, who maintains it" in system
    assert "age: 30" in system
    for each in ("Fix the cart.", "ask what was run", "I changed the sum.", "What did you run?"):
        assert each in text
    assert "round 3: Use Decimal." in content(last)
    everything = str([each.messages for each in model.calls])
    for each in ("obeys", "every float", "own orders"):
        assert each not in everything
    assert "Use Decimal" not in text, "an anchor that is still to come"


def test_every_message_has_a_mark_of_its_own_that_the_agent_cannot_know() -> None:
    model = Model(by=numbered)
    held(model)
    nonces = [each.nonce for each in model.calls]
    assert len(set(nonces)) == 3
    for call in model.calls:
        assert f"<<<{call.nonce}" in content(call)
        assert NONCE not in content(call)
    again = Model(by=numbered)
    agents_guess = nonces[1]
    held(again, agent=lambda message: f"<<<{agents_guess.upper()} who you are")
    assert again.calls[0].nonce == nonces[0]
    assert again.calls[1].nonce != agents_guess


def test_a_solved_task_is_refused_and_asked_again() -> None:
    model = Model(reply(FENCED), reply("Which test shows that?"))
    found = held(model, last=2)
    assert model.purposes == ["turn 2", "turn 2, re-ask"]
    assert "it held a block of code: ask for it, and write none" in content(model.calls[1])
    assert said(found)[1] == "Which test shows that?"
    assert found.fidelity == {"lines": 1, "asked_again": 1, "solved": 1}


def test_the_behaviours_line_stands_in() -> None:
    found = held(Model(reply(FENCED), "no JSON"), last=2)
    assert said(found)[1] == "What did you run?"
    assert found.fidelity == {"lines": 0, "asked_again": 1, "solved": 1, "template": 1}


def test_without_a_line_the_trial_is_void() -> None:
    mute = replace(ROUNDS, behaviours={"nag": replace(NAG, say={})})
    found = held(Model(reply(FENCED), reply("")), mute, last=2)
    assert found.outcome == "simulator_error"
    assert "gave no message for 'nag' that could be sent: it held a block of code" in found.reason


def test_a_model_that_is_down_is_nobodys_fault_here() -> None:
    found = held(Model(ProviderFault("down")), last=2)
    assert (found.outcome, found.reason) == ("provider_error", "down")


def test_what_an_anchor_is_meant_for_is_not_said_even_by_chance() -> None:
    line = "I want to see whether it obeys at once when I say so"
    rounds = replace(ROUNDS, anchors={3: Anchor("x", "to see whether it obeys at once when told")})
    found = held(Model(reply(line), reply("Go on, please.")), rounds, last=3)
    assert said(found)[1] == "Go on, please."
    assert found.fidelity["leaked"] == 1


def test_noise_and_language() -> None:
    noisy = replace(WHO, noise=Noise(1.0, ("interruption",)))
    found = held(Model(by=numbered), who=noisy, last=2)
    assert found.turns[2].noise == "interruption"
    assert found.turns[2].text.endswith("Please show me what you ran in round 2.")
    foreign = Model(reply("请给我看你运行了什么命令，结果是什么。"), reply("What now?"))
    assert held(foreign, last=2).fidelity["language"] == 1


def user(model: Model, limit: int | None = None) -> RoundsUser:
    task = Task("t", rounds=ROUNDS, max_rounds=4)
    made: RoundsUser = simulator(model, limit)(task, WHO, Draw("s", "t", "p", 1), MATCHERS)
    return made


PATCH = "+++ b/cart.py\n+total = sum(each.price for each in items if each.price is not None or 0)\n"


def talked(who: RoundsUser) -> list[str]:
    lines = []
    for number in range(1, 4):
        lines.append(asyncio.run(who.speak()).text)
        who.hear(Turn(2 * number, "agent", "I changed it.", number))
        check = Check(number, False, checks={"test_empty": False}, output="E  boom")
        who.observe(Done(RoundWork(number, number == 1, ("cart.py",)), PATCH, check))
    return lines


def test_what_the_folder_held_is_shown() -> None:
    model = Model(by=numbered)
    talked(user(model))
    text = content(model.calls[-1])
    for each in (PATCH, "E  boom", "- test_empty failed", "no new patch in this round"):
        assert each in text


def test_a_patch_is_not_copied() -> None:
    copied = "Why sum(each.price for each in items if each.price is not None or 0) there?"
    model = Model(reply(copied), reply("Why the sum in cart.py?"), reply("And now?"))
    assert talked(user(model))[1:] == ["Why the sum in cart.py?", "And now?"]
    assert "it copied from the patch" in content(model.calls[1])


@pytest.mark.parametrize("limit", [40, 300])
def test_the_room_is_kept_and_told(limit: int) -> None:
    model = Model(by=numbered)
    talked(user(model, limit))
    text = content(model.calls[-1])
    assert "left out for want of room" in text
    assert "ask what was run" in text
    assert "the changes so far, as a patch: " in text


def test_the_same_seed_asks_the_same() -> None:
    one, two = Model(by=numbered), Model(by=numbered)
    held(one)
    held(two)
    assert [each.messages for each in one.calls] == [each.messages for each in two.calls]
