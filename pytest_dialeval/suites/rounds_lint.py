"""What is wrong with follow-up rounds though each part is well written, and what they reach."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dialeval.records.follow_up import ANCHOR, REQUEST, Behaviour, Rounds
from pytest_dialeval.records.task import Task
from pytest_dialeval.suites.remark import Remark
from pytest_dialeval.suites.wording import there

_PLACE = ("task", "rounds")
MOST_ROUNDS = 1_000  # a conversation of more is a slip of the finger


def reachable(task: Task) -> tuple[str, ...]:
    """The states that a line of the user may have, under any seed; none without rounds."""
    if task.rounds is None:
        return ()
    free = _free(task)
    inner, last = bool(free - {task.max_rounds}), task.max_rounds in free
    drawn = [
        each.id
        for each in task.rounds.behaviours.values()
        if last or (inner and not each.only_last)
    ]
    return (REQUEST, *([ANCHOR] if task.rounds.anchors else []), *drawn)


def rounds_remarks(task: Task, modelled: bool) -> Iterator[Remark]:
    """Errors of a task's rounds; `modelled`: a model words the messages."""
    rounds = task.rounds
    if rounds is None:
        return
    if task.opening == "agent":
        text = "with task.rounds the user opens, with the request: remove `opening: agent`"
        yield Remark(("task", "opening"), text)
    if task.max_rounds > MOST_ROUNDS:
        text = (
            f"max_rounds: {task.max_rounds} is more than {MOST_ROUNDS} follow-up rounds: lower it"
        )
        yield Remark(("task", "max_rounds"), text)
        return
    yield from _undrawn(task, rounds)
    if not modelled:
        yield from _speechless(task, rounds)


def _undrawn(task: Task, rounds: Rounds) -> Iterator[Remark]:
    """The first round that nothing could be drawn for."""
    free = _free(task)
    for number in sorted(free):
        found = _open(task, number)
        after_draw = number - 1 in free and not rounds.profile.repeats
        if len(found) > after_draw:
            continue
        why = "its behaviours make sense in the last round alone; weigh others too"
        if found:
            why = "none comes twice in a row; weigh more of them, or set `repeats: true`"
        text = f"profile {rounds.profile.id!r} has no behaviour for round {number}: {why}"
        yield Remark((*_PLACE, "profile"), text)
        return


def _speechless(task: Task, rounds: Rounds) -> Iterator[Remark]:
    for each in rounds.behaviours.values():
        if each.id in reachable(task) and not each.lines(task.language):
            what = f"behaviour {each.id!r} has no lines in {task.language!r} ({there(each.say)})"
            remedy = "a model for the role user (`models: {user: ...}`)"
            if each.say:
                remedy = f"weigh behaviours of your own, or name {remedy}"
            else:
                remedy = f"give it lines under `say`, or name {remedy}"
            yield Remark(_PLACE, f"{what}: {remedy}")


def _free(task: Task) -> set[int]:
    """The rounds that a behaviour is drawn for."""
    assert task.rounds is not None
    last = min(task.max_rounds, MOST_ROUNDS)
    return set(range(2, last + 1)) - task.rounds.anchors.keys()


def _open(task: Task, number: int) -> list[Behaviour]:
    assert task.rounds is not None
    last = number == task.max_rounds
    return [each for each in task.rounds.behaviours.values() if last or not each.only_last]
