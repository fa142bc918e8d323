"""What a model is shown before it writes a follow-up: the rounds so far, cut to fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_dialeval.conversation.follow_up_facts import (
    Past,
    calls_of,
    check_of,
    failing_checks,
    last_check,
    last_patch,
    output_of_tests,
    quoted_commands,
    troubles,
)
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.work import Check

REQUEST = "the original request"
BEHAVIOUR = "what the next message is to do"
EARLIER = "every message of the user since then"
ANSWERS = "what the agent said"
CALLS = "tools and commands of the agent"
PATCH = "the changes so far, as a patch"
OUTPUT = "output of the tests"
CHECK = "what the verifier says"
TROUBLES = "signs of trouble"
# The first gives way first where there is no room for all.
GIVES_WAY = (OUTPUT, PATCH, CALLS, ANSWERS, EARLIER, CHECK, TROUBLES, REQUEST, BEHAVIOUR)

# Characters, whatever the limit: more of these helps nobody to write one message.
_ANSWER, _OLD_ANSWER, _RESULT = 2_000, 500, 300
_PATCH, _OUTPUT = 6_000, 3_000
_CALLS = 40  # calls of a round that are listed
# A section gives way down to this, each in its turn, before any is left out.
SHORT = 300
_LEAST = 60  # fewer characters of a section than these tell nothing


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the context: data, under a name of ours."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The sections that are shown, and what is missing of the others."""

    sections: tuple[Section, ...]
    left_out: tuple[str, ...] = ()  # `the changes so far, as a patch: 5100 of 6000 characters`


def context(request: str, goal: str, rounds: Sequence[Past], limit: int | None = None) -> Context:
    """All that is known, in at most `limit` characters of data; our own marks come on top."""
    return fitted([each for each in _sections(request, goal, rounds) if each.text.strip()], limit)


def _sections(request: str, goal: str, rounds: Sequence[Past]) -> Iterator[Section]:
    yield Section(REQUEST, clean(request))
    yield Section(BEHAVIOUR, clean(goal))
    said = (f"round {each.number}: {clean(each.instruction)}" for each in rounds[1:])
    yield Section(EARLIER, "\n".join(said))
    yield Section(ANSWERS, "\n".join(_answers(rounds)))
    yield Section(CALLS, "\n".join(_calls(rounds)))
    yield Section(PATCH, without_middle(clean(last_patch(rounds)), _PATCH))
    yield Section(OUTPUT, without_middle(clean(output_of_tests(rounds)), _OUTPUT))
    yield Section(CHECK, "\n".join(_checks(rounds)))
    yield Section(TROUBLES, "\n".join(f"- {clean(each)}" for each in troubles(rounds)))


def _answers(rounds: Sequence[Past]) -> Iterator[str]:
    for each in rounds:
        if each.reply is not None:
            most = _ANSWER if each is rounds[-1] else _OLD_ANSWER
            text = clean(each.reply.text).strip() or "(nothing)"
            yield f"round {each.number}: {without_middle(text, most)}"


def _calls(rounds: Sequence[Past]) -> Iterator[str]:
    for each in rounds:
        calls = calls_of(each)
        if calls:
            yield f"round {each.number}:"
        if len(calls) > _CALLS:
            yield f"[{len(calls) - _CALLS} earlier calls left out]"
        yield from quoted_commands(calls[-_CALLS:], _RESULT)


def _checks(rounds: Sequence[Past]) -> Iterator[str]:
    for each in rounds:
        if (check := check_of(each)) is not None:
            yield f"after round {each.number}: {_result(check)}"
    check = last_check(rounds)
    yield from (f"- {clean(each)} failed" for each in failing_checks(check)[:20])


def _result(check: Check) -> str:
    if check.passed is None:
        return f"it could not be told: {clean(check.why)}"
    return "passed" if check.passed else "failed"


def fitted(sections: Sequence[Section], limit: int | None) -> Context:
    """The sections in the room that there is; those that give way first are in GIVES_WAY.

    Where `limit` allows it each keeps SHORT characters, its beginning and its end.
    """
    if limit is None:
        return Context(tuple(sections))
    room = _room({each.name: len(each.text) for each in sections}, limit)
    kept = [
        Section(each.name, without_middle(each.text, room[each.name]))
        for each in sections
        if room[each.name]
    ]
    missing = (
        f"{each.name}: {len(each.text) - room[each.name]} of {len(each.text)} characters"
        for each in sections
        if room[each.name] < len(each.text)
    )
    return Context(tuple(kept), tuple(missing))


def _room(lengths: Mapping[str, int], limit: int) -> dict[str, int]:
    room = dict(lengths)
    for least in (SHORT, 0):
        for name in sorted(room, key=GIVES_WAY.index):
            over = sum(room.values()) - limit
            if over <= 0:
                return room
            room[name] = min(room[name], max(least, room[name] - over))
            # A scrap says less than that it is missing; the last section stays, whatever is left.
            if room[name] < min(_LEAST, lengths[name]) and name != BEHAVIOUR:
                room[name] = 0
    return room


def without_middle(text: str, most: int) -> str:
    """The beginning and the end, `most` characters together, and how many are missing between."""
    if len(text) <= most:
        return text
    tail = most // 2
    mark = f"[{len(text) - most} characters left out]"
    return "\n".join(filter(None, (text[: most - tail], mark, text[len(text) - tail :])))
