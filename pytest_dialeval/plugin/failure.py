"""What a failed item says: the rubric, the deciding turns, what was expected, how to repeat it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dialeval.records.text import visible

if TYPE_CHECKING:
    from pytest_dialeval.plugin.collection import Cell
    from pytest_dialeval.records.run import Graded
    from pytest_dialeval.records.transcript import Turn
    from pytest_dialeval.records.verdict import Evidence, TrialScore, Verdict

WINDOW = 160  # characters of a turn shown round its quote
LISTED = 12  # turn ids listed of those searched
# Settings of a run as a whole: what they say changes nothing about one item.
ELSEWHERE = frozenset(
    {"label", "runs", "concurrency", "ahead", "budget", "distinct-models"}
    | {"min-pass-hat-k", "min-score", "max-safety-breaches", "max-unmeasured"}
)


def failure_text(item: pytest.Item, cell: Cell, graded: Graded) -> str:
    """The whole message of one failed rubric."""
    return visible("\n".join(_lines(item, cell, graded)))


def _lines(item: pytest.Item, cell: Cell, graded: Graded) -> Iterator[str]:
    rubric, verdict = cell.rubric, graded.verdict
    yield verdict.reason  # first, for pytest's short summary has room for little more
    if rubric is not None and cell.kind != "body":
        weight = "" if rubric.dimension == "safety" else f", weight {rubric.weight:g}"
        yield f"  rubric: {rubric.id} ({rubric.dimension}, {rubric.spec.method}{weight})"
    if verdict.expected:
        yield f"  expected: {verdict.expected}"
    if verdict.score is not None and 0 < verdict.score < 1:
        yield f"  score {verdict.score:.3g}"
    yield from turn_lines(graded.excerpt, verdict)
    if not verdict.evidence and verdict.searched:
        shown = {each.id for each in graded.excerpt}
        unseen = sum(each not in shown for each in verdict.searched)
        more = f" ({unseen} of them not shown here)" if unseen and shown else ""
        yield f"  searched in vain: {_turn_list(verdict.searched)}{more}"
    if graded.work is not None and graded.work.printed:
        yield from ("", "  the verifier printed, at its end:")
        yield from (f"      {each}".rstrip() for each in graded.work.printed)
    yield from where_lines(item, cell, graded)


def turn_lines(turns: Sequence[Turn], verdict: Verdict) -> Iterator[str]:
    """Each turn with its id; the quotes between >> and <<."""
    if turns:
        yield ""
    for turn in turns:
        evidence = [each for each in verdict.evidence if each.turn == turn.id]
        tags = "".join(f" [{name} {value}]" for name, value in _tags(turn))
        yield f"  turn {turn.id} {turn.speaker}{tags}: {_marked(turn, evidence)}"
        for each in evidence:
            if each.part != "text":
                yield f"      in its {each.part.replace('_', ' ')}: >>{_short(each.quote)}<<"


def _tags(turn: Turn) -> Iterator[tuple[str, str]]:
    for name in ("state", "probe", "noise"):
        value = getattr(turn, name)
        if value:
            yield name, value


def _marked(turn: Turn, evidence: Sequence[Evidence]) -> str:
    """A window of the turn's text round the first quote, quotes marked where they stand."""
    if not turn.text:
        return " ".join(map(str, turn.tool_calls))[:WINDOW] or "(no words)"
    spans = sorted(_spans(turn.text, evidence))
    first = spans[0] if spans else (0, 0)
    start = max(0, first[0] - WINDOW // 2)
    end = max(start + WINDOW, min(first[1], first[0] + 400) + 40)
    shown = turn.text[start:end]
    for left, right in reversed(spans):
        if start <= left and right <= end:
            left, right = left - start, right - start
            shown = f"{shown[:left]}>>{shown[left:right]}<<{shown[right:]}"
    head, tail = "..." if start else "", "..." if end < len(turn.text) else ""
    return f"{head}{shown}{tail}".replace("\n", "\n      ")


def _spans(text: str, evidence: Sequence[Evidence]) -> set[tuple[int, int]]:
    """Where the quotes stand; a turn that was shortened is searched for them."""
    found: set[tuple[int, int]] = set()
    for each in evidence:
        if each.part == "text" and each.quote:
            here = text.startswith(each.quote, each.start)
            start = each.start if here else text.find(each.quote)
            span = (start, start + len(each.quote))
            apart = all(span[1] <= left or right <= span[0] for left, right in found)
            if start >= 0 and apart:
                found.add(span)
    return found


def _short(text: str) -> str:
    return text if len(text) <= WINDOW else f"{text[:WINDOW]}..."


def _turn_list(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, ids[:LISTED]))
    more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
    return f"turn{'s' if len(ids) > 1 else ''} {shown}{more}"


def where_lines(item: pytest.Item, cell: Cell, graded: Graded) -> Iterator[str]:
    """Where the whole conversation stands, and how to hold it again."""
    conversation, running = graded.conversation, cell.source.engine.running
    yield ""
    work = graded.work
    if work is not None and work.untouched:
        yield "  patch: none, for nothing in the agent's folder differs from the start"
    elif work is not None and work.patch and conversation.trace and running is not None:
        patch = running.directory.path / work.patch
        yield f"  patch: {cell.source.engine.relative(patch)}"
    if conversation.recording:
        yield f"  transcript: {conversation.recording}"
    elif conversation.trace and running is not None:
        trace = running.directory.traces / conversation.trace
        yield f"  transcript: {cell.source.engine.relative(trace)}"
    yield f"  repeat: {repeat_command(item, cell)}"


def repeat_command(item: pytest.Item, cell: Cell) -> str:
    """The command that runs just this item again, the same way."""
    settings = cell.source.engine.settings
    words = ["pytest", _from_invocation(item)]
    for name, setting in settings.fleeting().items():
        if name not in ELSEWHERE:
            words += _as_words(f"--dialeval-{name}", setting.value)
    if "regrade" in settings.fleeting() and (runs := settings.stated().get("runs")):
        words += ["--dialeval-runs", str(runs.value)]  # the run may lie there
    return " ".join(map(shlex.quote, words))


def _as_words(flag: str, value: object) -> list[str]:
    """An option as it is typed; one that is only said, or said of many."""
    if isinstance(value, bool):
        return [flag] if value else []
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (flag, str(each))]


def _from_invocation(item: pytest.Item) -> str:
    """The node id with a path that works from the folder of invocation."""
    _, colons, rest = without_group(item.nodeid).partition("::")
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    return f"{Path(path).as_posix()}{colons}{rest}"


def without_group(nodeid: str) -> str:
    """The node id without the `@group` that xdist's loadgroup writes behind it in workers."""
    before, at, group = nodeid.rpartition("@")
    is_group = at and "]" not in group and "::" not in group  # else a parameter's @, or a path's
    return before if is_group else nodeid


def score_text(item: pytest.Item, cell: Cell, score: TrialScore) -> str:
    """Why a trial as a whole has not passed."""
    scoring = cell.source.suite.scoring
    lines = []
    if scoring is not None and scoring.pass_on:
        lines.append(f"the trial has not passed: {scoring.pass_on} failed, and it alone decides")
    elif score.task_score is None:
        lines.append("the trial has not passed: nothing of completion or robustness was measured")
    else:
        mark = scoring.pass_mark if scoring is not None else 1.0
        lines.append(f"the trial has not passed: task score {score.task_score:.3g} < {mark:g}")
    for name in ("completion", "robustness"):
        value = getattr(score, name)
        lines.append(f"  {name}: {'not measured' if value is None else format(value, '.3g')}")
    lines.append(f"  safety: {_safety(score)}")
    lines += ["", f"  repeat: {repeat_command(item, cell)}"]
    return visible("\n".join(lines))


def _safety(score: TrialScore) -> str:
    """Beside a good completion a task score of 0 wants its reason said."""
    if not score.breaches:
        return "no breach"
    return f"0, breached: {', '.join(score.breaches)}"
