"""A user that follows up: the same schedule for all, and words that know what was done."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.conversation.agent import Reply
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.rounds_user import RoundsUser
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.follow_up import Anchor, Behaviour, Profile, Rounds
from pytest_dialeval.records.task import Noise, Persona, Script, Task
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.records.work import Check, Done, RoundWork
from pytest_dialeval.suites.behaviours import BEHAVIOURS
from pytest_dialeval.suites.profiles import DEFAULT, PROFILES
from tests.conversation.stage import MATCHERS

DEFAULTS = Rounds(
    "Fix it.", PROFILES[DEFAULT], {each: BEHAVIOURS[each] for each in PROFILES[DEFAULT].weights}
)
ANCHORED = replace(DEFAULTS, anchors={3: Anchor("Use Decimal, please.", "secret", "obeys")})
WHO = Persona("p", Script({}))


def task(rounds: Rounds = DEFAULTS, **keys: Any) -> Task:
    return Task("t", rounds=rounds, **{"max_rounds": 5, **keys})


def own(say: str, **keys: Any) -> Rounds:
    """One behaviour with one line, again and again."""
    behaviour = Behaviour("nag", "nag", {"en": (say,)})
    return Rounds("Fix it.", Profile("p", "", {"nag": 1}, repeats=True), {"nag": behaviour}, **keys)


def held(
    agent: object = lambda message: "Done as you wished.",
    rounds: Rounds = DEFAULTS,
    *,
    seed: str = "s",
    trial: int = 1,
    who: Persona = WHO,
    **keys: Any,
) -> Transcript:
    return asyncio.run(
        converse(
            task(rounds, **keys),
            who,
            adapt(agent, name="a"),
            draw=Draw(seed, "t", who.id, trial),
            matchers=MATCHERS,
            simulator=RoundsUser,
        )
    )


def states(found: Transcript) -> list[str | None]:
    return [each.state for each in found.turns if each.speaker == "user"]


def said(found: Transcript) -> list[str]:
    return [each.text for each in found.turns if each.speaker == "user"]


def test_a_whole_conversation() -> None:
    found = held(rounds=ANCHORED)
    assert (found.outcome, found.ended_by) == ("completed", "user")
    assert states(found)[0] == "request"
    assert states(found)[2] == "anchor"
    assert (said(found)[0], said(found)[2]) == ("Fix it.", "Use Decimal, please.")
    assert len(found.turns) == 10
    assert found.fidelity == {}


def test_two_agents_and_all_trials_meet_the_same_schedule() -> None:
    first = states(held())
    assert states(held(lambda message: "No!")) == first
    assert states(held(trial=2)) == first
    assert states(held(who=replace(WHO, id="other"))) == first
    assert any(states(held(seed=str(each))) != first for each in range(5))


def test_words_differ_by_trial() -> None:
    assert len({tuple(said(held(trial=each))) for each in range(1, 6)}) > 1


def test_the_agent_hangs_up() -> None:
    found = held(lambda message: Reply("Bye.", hang_up=True))
    assert (found.outcome, found.ended_by) == ("completed", "agent")
    assert states(found) == ["request"]


def test_one_round() -> None:
    assert states(held(max_rounds=1)) == ["request"]
    assert held(max_rounds=1).outcome == "completed"


def user(rounds: Rounds = DEFAULTS, who: Persona = WHO, **keys: Any) -> RoundsUser:
    return RoundsUser(task(rounds, **keys), who, Draw("s", "t", "p", 1), MATCHERS)


def spoken(who: RoundsUser, *, last: int = 5, done: Done | None = None) -> list[Any]:
    lines = []
    for number in range(1, last + 1):
        assert not who.leaving
        lines.append(asyncio.run(who.speak()))
        who.hear(Turn(2 * number, "agent", "I changed the total of it.", number))
        if done is not None:
            who.observe(replace(done, work=replace(done.work, round=number)))
    assert who.leaving
    return lines


def test_only_the_last_line_is_the_last() -> None:
    assert [each.last for each in spoken(user())] == [False] * 4 + [True]


def test_what_the_folder_held_is_spoken_of() -> None:
    check = Check(1, False, checks={"test_empty": False})
    done = Done(RoundWork(1, True, ("cart.py",)), "+x", check)
    lines = spoken(user(own("{failing} in {files}?")), done=done)
    assert {each.text for each in lines[1:]} == {"test_empty in cart.py?"}


def test_without_a_folder_other_words_are_found() -> None:
    lines = spoken(user(own("{failing} in {files}?")))
    assert {each.text for each in lines[1:]} == {"the check in what you changed?"}


def test_noise_leaves_request_and_anchors_alone() -> None:
    noisy = replace(WHO, noise=Noise(1.0, ("interruption",)))
    rounds = own("Please look at that once more.", anchors=ANCHORED.anchors)
    found = held(rounds=rounds, who=noisy)
    noise = [each.noise for each in found.turns if each.speaker == "user"]
    assert noise == [None, "interruption", None, "interruption", "interruption"]
    assert said(found)[2] == "Use Decimal, please."


def test_nothing_to_say_voids_the_trial() -> None:
    rounds = replace(own("x"), behaviours={"nag": Behaviour("nag", "nag")})
    found = held(rounds=rounds)
    assert found.outcome == "simulator_error"
    assert "behaviour 'nag' has no line in 'en'" in found.reason


def test_the_agent_is_told_nothing_but_the_words() -> None:
    seen: list[Any] = []

    def agent(message: str, history: Any) -> str:
        seen.append((message, repr(list(history))))
        return "Done."

    assert held(agent, ANCHORED).outcome == "completed"
    assert seen[2][0] == "Use Decimal, please."
    assert not any(word in str(seen) for word in ("secret", "obeys", "anchor", "add-tests"))


@pytest.mark.parametrize("name", PROFILES)
@given(seed=st.text(max_size=5), answer=st.text(max_size=60))
def test_no_profile_is_ever_without_words(name: str, seed: str, answer: str) -> None:
    profile = PROFILES[name]
    rounds = Rounds("Help.", profile, {each: BEHAVIOURS[each] for each in profile.weights})
    who = RoundsUser(task(rounds, max_rounds=8), WHO, Draw(seed, "t", "p", 1), MATCHERS)
    for number in range(1, 9):
        line = asyncio.run(who.speak())
        assert line.text.strip()
        who.hear(Turn(2 * number, "agent", answer, number))
