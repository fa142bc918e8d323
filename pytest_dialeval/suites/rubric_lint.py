"""What is wrong with a rubric: alone, and with the personas that it is asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dialeval.matching.compiling import Check, compile_spec
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.trigger import fired
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.follow_up import REQUEST
from pytest_dialeval.records.rubric import JUDGE, SCORE, Rubric, Trigger
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.records.task import Persona, Task
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.suites.remark import Remark, note
from pytest_dialeval.suites.rounds_lint import reachable
from pytest_dialeval.suites.spec import BROKEN
from pytest_dialeval.suites.wording import there


def rubric_remarks(rubric: Rubric, matchers: Mapping[str, Matcher]) -> Iterator[Remark]:
    """Errors and notes of one rubric by itself."""
    if rubric.id == SCORE:
        yield Remark(("id",), "`score` is the name of a trial's own item: rename the rubric")
    check = check_of(rubric, matchers)
    if rubric.dimension == "safety":
        yield from _safety_remarks(rubric, check)
    elif rubric.spec.method == JUDGE:
        yield from _level_remarks(rubric)
    if check is None:
        return
    if rubric.trigger is None and check.scope in ("after_trigger", "next"):
        text = f"turns: {check.scope} looks behind a trigger, but the rubric has none"
        yield note((rubric.spec.method,), text)


def check_of(rubric: Rubric, matchers: Mapping[str, Matcher]) -> Check | None:
    """The rubric's matcher; None where the judge decides, or its spec is wrong."""
    if rubric.spec is BROKEN or rubric.spec.method == JUDGE:
        return None
    return compile_spec(rubric.spec, matchers)


def _safety_remarks(rubric: Rubric, check: Check | None) -> Iterator[Remark]:
    method = rubric.spec.method
    if "levels" in rubric.spec.params and method == JUDGE:
        text = "a safety rubric must be met or not met: remove levels"
        yield Remark((JUDGE, "levels"), text)
    if check is not None and not check.boolean:
        yield Remark(
            (method,),
            f"a safety rubric must be met or not met, but {method} with these parameters gives "
            "shares: one bad turn in ten would pass; use a matcher that is yes or no, or put it "
            f"under all: [{{{method}: ...}}]",
        )
    if rubric.min == 0:
        yield Remark(("min",), "a safety rubric with min: 0 can never fail: remove min")


def _level_remarks(rubric: Rubric) -> Iterator[Remark]:
    """Levels that a judge's word could not be told apart by, or that decide nothing."""
    levels: Any = rubric.spec.params.get("levels") or ()
    first: dict[str, str] = {}
    for index, each in enumerate(levels):
        at, word = (JUDGE, "levels", index, "name"), _spelt(each["name"])
        if word in first:
            text = f"level {each['name']!r} is read as {first[word]!r}, which is there already"
            yield Remark(at, f"{text}: rename one")
        elif word == "cannot_tell":
            yield Remark(at, "`cannot_tell` is what a judge says that cannot decide: rename it")
        first.setdefault(word, each["name"])
    scores = [each["score"] for each in levels if each.get("score") is not None]
    if levels and len(scores) < 2:
        yield Remark((JUDGE, "levels"), "needs two levels with a score: one alone grades nothing")
    elif scores and max(scores) < rubric.min:
        text = f"no level reaches min: {rubric.min:g}, so it can never pass"
        yield note((JUDGE, "levels"), f"{text}; give a `min` of at most {max(scores):g}")
    elif scores and min(scores) >= rubric.min:
        yield note((JUDGE, "levels"), f"every level reaches min: {rubric.min:g}: it can't fail")


def _spelt(level: str) -> str:
    """As a judge's word is read: case, spaces and dashes make no difference."""
    return re.sub(r"[\s-]+", "_", level.strip().lower())


@dataclass(frozen=True, slots=True)
class Cast:
    """What the personas of a suite may say and be, as far as their scripts fix it."""

    task: Task
    personas: Sequence[Persona]
    probes: frozenset[str]
    states: frozenset[str]
    open: bool  # anything may be said: recorded conversations, or a user played by a model


def cast_of(suite: Suite, modelled: bool) -> Cast:
    """The personas of a suite, ready to be asked about."""
    return Cast(
        task=suite.task,
        personas=suite.personas,
        probes=frozenset(each.id for persona in suite.personas for each in persona.probes),
        states=frozenset(
            [
                *(state for persona in suite.personas for state in persona.script.states),
                *reachable(suite.task),
            ]
        ),
        open=bool(suite.transcripts) or modelled,
    )


def trigger_remarks(trigger: Trigger, suite: Suite, cast: Cast) -> Iterator[Remark]:
    """A trigger that no conversation of the suite can fire."""
    for kind, name, known in (
        ("probe", trigger.probe, cast.probes),
        ("state", trigger.state, cast.states),
    ):
        if name is None or name in known:
            continue
        if not suite.transcripts:
            who = "no round" if suite.task.rounds and kind == "state" else "no persona"
            text = f"{who} has a {kind} {name!r}, so the trigger can never fire"
            guess = did_you_mean(name, sorted(known))
            yield Remark(("trigger", kind), f"{text}{guess} ({there(sorted(known))})")
        elif not any(each.format == "dialeval" for each in suite.transcripts):
            text = f"recordings of these formats name no {kind}: the trigger can never fire"
            yield Remark(("trigger", kind), f"{text}; use user_keyword or when")


def never_met(rubric: Rubric, check: Check | None, cast: Cast) -> Remark | None:
    """A rubric asked only after a line of the user, but answered only by the agent's first turn."""
    trigger = rubric.trigger
    if trigger is None or check is None or check.scope != "first":
        return None
    agent_opens = cast.task.opening == "agent"
    if trigger.when is not None and (trigger.then == "all" or not agent_opens):
        return None
    if not agent_opens and could_fire_first(trigger, cast):
        return None
    return Remark(
        (rubric.spec.method,),
        "can never be met: it is triggered by a line of the user, but searches only the agent's "
        "first turn, which comes before; use turns: all, next or last, or remove the trigger",
    )


def could_fire_first(trigger: Trigger, cast: Cast) -> bool:
    """Whether some user's first line may fire the trigger."""
    rounds = cast.task.rounds
    if rounds is not None and not trigger.probe:
        if trigger.state is not None:
            return trigger.state == REQUEST
        return _says(trigger, rounds.request)
    if cast.open:
        return True
    return any(_fires_first(trigger, persona) for persona in cast.personas)


def _fires_first(trigger: Trigger, persona: Persona) -> bool:
    start = persona.script.start
    first = [each for each in persona.probes if each.at_user_turn == 1 or each.on_state == start]
    if trigger.probe is not None:
        return any(each.id == trigger.probe for each in first)
    if trigger.state is not None:
        return trigger.state == start
    state = persona.script.states.get(start)
    lines = [each.say for each in first] + list(state.say if state else ())
    return any(_says(trigger, line) for line in lines)


def _says(trigger: Trigger, line: str) -> bool:
    return fired(trigger, View((Turn(1, "user", line),)), None) is not None
