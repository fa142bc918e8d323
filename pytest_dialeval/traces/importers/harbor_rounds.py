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
    agent that was not resumed may begin with the same message, and is kept whole. Where only a part
    agrees, history was written anew: what stands between it and the next message is no new answer.
    """
    same = common_prefix(before, after)
    if same == len(before):
        return Cut(tuple(after[same:]))
    asked = [place for place, each in enumerate(after) if each.source == "user"]
    begins = next((place for place in asked if place >= same), None)
    if begins is not None and _answered(after[:same]):
        return Cut(tuple(after[begins:]), begins - same)
    return Cut(tuple(after))


def common_prefix(before: Sequence[Step], after: Sequence[Step]) -> int:
    """How many steps at the beginning are the same."""
    pairs = zip(before, after, strict=False)
    return next(
        (place for place, (one, other) in enumerate(pairs) if one.key != other.key),
        min(len(before), len(after)),
    )


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
