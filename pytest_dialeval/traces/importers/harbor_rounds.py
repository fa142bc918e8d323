"""Steps of trajectories -> rounds, each turn in one of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dialeval.traces.importers.atif import Step


@dataclass(frozen=True, slots=True)
class Cut:
    """What a trajectory adds to the one before it; `left_out` steps say the same in other words."""

    own: tuple[Step, ...]
    left_out: int = 0


def cut(before: Sequence[Step], after: Sequence[Step]) -> Cut:
    """The part of `after` that `before` does not hold.

    A resumed agent writes its whole history each time, so that `before` is a prefix of `after`. An
    agent that was not resumed may begin with the same message, and is kept whole. Where history was
    shortened or written anew, what is new begins with the message behind the last round of
    `before`; where that round was written anew too, with the next message.
    """
    same = common_prefix(before, after)
    if same == len(before):
        return Cut(tuple(after[same:]))
    begins = _behind_last_round(before, after)
    if begins is None and _answered(after[:same]):
        begins = next((n for n, each in enumerate(after) if n >= same and _asks(each)), None)
    if begins is None:
        return Cut(tuple(after))
    known = {each.key for each in before}
    return Cut(tuple(after[begins:]), sum(each.key not in known for each in after[same:begins]))


def _behind_last_round(before: Sequence[Step], after: Sequence[Step]) -> int | None:
    """Where a message of the user stands in `after` behind all of the last round of `before`."""
    asked = [place for place, each in enumerate(before) if _asks(each)]
    last = [each.key for each in before[asked[-1] :]] if asked else []
    if not _answered(before[len(before) - len(last) :]):
        return None
    keys = [each.key for each in after]
    ends = range(len(last), len(after))
    return next(
        (end for end in ends if keys[end - len(last) : end] == last and _asks(after[end])), None
    )


def common_prefix(before: Sequence[Step], after: Sequence[Step]) -> int:
    """How many steps at the beginning are the same."""
    pairs = zip(before, after, strict=False)
    return next(
        (place for place, (one, other) in enumerate(pairs) if one.key != other.key),
        min(len(before), len(after)),
    )


def _asks(step: Step) -> bool:
    return step.source == "user"


def _answered(steps: Sequence[Step]) -> bool:
    return any(each.source == "agent" for each in steps)


@dataclass(frozen=True, slots=True)
class Placed:
    """A step in its round."""

    step: Step
    round: int


def by_messages(steps: Sequence[Step]) -> list[Placed]:
    """One round a message of the user; what comes before the first is in none (0)."""
    placed: list[Placed] = []
    spoken = 0
    for each in steps:
        spoken += each.source == "user"
        placed.append(Placed(each, spoken))
    return placed


def in_rounds(steps: Sequence[Step], rounds: Sequence[int]) -> list[Placed]:
    """The steps of one round, or of several of which only the last left a trajectory.

    They are told apart by their messages, where there are as many as rounds; else all are put into
    the last.
    """
    messages = sum(each.source == "user" for each in steps)
    if len(rounds) == 1 or messages != len(rounds):
        return [Placed(each, rounds[-1]) for each in steps]
    return [Placed(each.step, rounds[max(each.round - 1, 0)]) for each in by_messages(steps)]
