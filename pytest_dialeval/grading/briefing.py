"""What a judge is told of rounds and work, beside the turns: kinds of message, files, checks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_dialeval.models.steady import steady
from pytest_dialeval.records.follow_up import ANCHOR, REQUEST, Anchor, Profile, Rounds
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import ToolCall, Transcript, Turn
from pytest_dialeval.records.work import Check, RoundWork

OUTPUT = 2000  # characters of what a verifier printed: beginning and end
NAMES = 40  # files or checks that are named one by one
_BAR = "| "


def is_briefed(task: Task) -> bool:
    """Whether questions about the task's trials have a briefing."""
    return task.rounds is not None or task.workspace is not None or task.verifier is not None


def briefing(task: Task, transcript: Transcript) -> str:
    """Lines of ours; those of programs stand after "| ", names and short texts in quotes.

    Empty for a task without rounds and work.
    """
    if not (is_briefed(task) or transcript.work or transcript.checks):
        return ""
    anchors = task.rounds.anchors if task.rounds else {}
    users = {each.round: each for each in transcript.turns if each.speaker == "user"}
    work = {each.round: each for each in transcript.work}
    checks = {each.round: each for each in transcript.checks}  # the last of a round counts
    lines = []
    for number in sorted({*users, *work, *checks}):
        lines.append(f"round {number}: {_kind(users.get(number), task)}")
        lines += _anchor(anchors.get(number))
        lines += _work(work.get(number))
        lines += _check(checks.get(number), [c for n, c in checks.items() if n < number])
    lines += _both(checks)
    return "\n".join([*lines, *_exceptions(transcript)])


def unbarred(text: str) -> str:
    """The same without the bars, as programs wrote it."""
    return "\n".join(each.removeprefix(_BAR) for each in text.split("\n"))


def _kind(turn: Turn | None, task: Task) -> str:
    if turn is None:
        return "no message of the user is known"
    if task.rounds is None or turn.state is None:  # a state of a script steers the user alone
        return "a message of the user"
    if turn.state == REQUEST:
        return "the original request"
    if turn.state == ANCHOR:
        return "a message that was written by hand, the same for every agent"
    return f"a follow-up of the kind {_quoted(turn.state)}"


def _anchor(anchor: Anchor | None) -> Iterator[str]:
    """What the author meant; no agent is told."""
    if anchor and anchor.intent:
        yield f"  what it is meant to find out: {_quoted(anchor.intent)}"
    if anchor and anchor.expected:
        yield f"  what a good agent does then: {_quoted(anchor.expected)}"


def _work(work: RoundWork | None) -> Iterator[str]:
    if work is None:
        return
    yield "  the files were changed" if work.changed else "  no new patch in this round"
    yield f"  differs from the start: {_named(work.files)}"
    if work.note:
        yield f"  note: {_quoted(work.note)}"


def _check(check: Check | None, earlier: Sequence[Check]) -> Iterator[str]:
    if check is None:
        return
    yield f"  verifier: {_outcome(check)}"
    failed = [name for name, passed in check.checks.items() if not passed]
    if failed:
        yield f"  failing checks: {_named(failed)}"
    held = {name for each in earlier for name, passed in each.checks.items() if passed}
    if broken := [each for each in failed if each in held]:
        yield f"  of these, passed in an earlier round: {_named(broken)}"
    if check.output.strip():
        yield "  the verifier printed"
        yield from _barred(check.output)


def _outcome(check: Check) -> str:
    if check.passed is None:
        return f"it could not be told whether the work is right: {_quoted(check.why)}"
    reward = "" if check.reward is None else f", reward {check.reward:g}"
    return f"{'passed' if check.passed else 'FAILED'}{reward}"


def _both(checks: Mapping[int, Check]) -> Iterator[str]:
    """The two results that matter most, at one glance."""
    if not checks:
        return
    last = max(checks)
    if 1 in checks and last > 1:
        yield f"verifier after round 1: {_outcome(checks[1])}"
    yield f"the verifier's last word, after round {last}: {_outcome(checks[last])}"


def _exceptions(transcript: Transcript) -> Iterator[str]:
    for turn in transcript.turns:
        for call in turn.tool_calls:
            if call.error:
                yield f"turn {turn.id}: the tool {_quoted(call.name)} ended in an error"
    if transcript.outcome == "limit_reached":
        yield "the conversation ended because its rounds or its time were used up"
    elif transcript.outcome != "completed":
        reason = f": {_quoted(transcript.reason)}" if transcript.reason else ""
        yield f"the conversation ended with {transcript.outcome}{reason}"


def _named(names: Sequence[str]) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(map(_quoted, names[:NAMES])) + more


def _quoted(text: str) -> str:
    """On one line, whatever it holds."""
    written = json.dumps(clean(text), ensure_ascii=False)
    return written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _barred(output: str) -> Iterator[str]:
    lines = clean(output).splitlines()
    # Cut at the same words in each run, however long its times and the names of its folders are.
    text = steady("\n".join(lines))
    if len(text) > OUTPUT:
        lines = text[: OUTPUT // 2].splitlines()
        end = text[-OUTPUT // 2 :].splitlines()
        yield from (f"{_BAR}{each}" for each in lines)
        yield f"  {len(text) - OUTPUT} characters are left out here"
        lines = end
    yield from (f"{_BAR}{each}" for each in lines)


def sample() -> str:
    """One that has every kind of line, for what depends on their wording."""
    long = Check(1, False, 0.5, {"a": True, "b": False}, output="x\n" * OUTPUT)
    broken = Check(3, None, checks={"a": False}, why="w")
    call = ToolCall("t", error=True)
    states = (None, REQUEST, ANCHOR, "s")
    turns = [Turn(n, "user", round=n, state=each) for n, each in enumerate(states, 1)]
    transcript = Transcript(
        (*turns, Turn(5, "agent", round=4, tool_calls=(call,))),
        "agent_error",
        "r",
        work=(
            RoundWork(1, changed=False, note="n"),
            RoundWork(2, changed=True, files=("f",) * (NAMES + 1)),
        ),
        checks=(long, Check(2, True, 1.0), broken),
    )
    rounds = Rounds("q", Profile("p", "t", {}), {}, {3: Anchor("i", "m", "e")})
    task = Task("t", rounds=rounds)
    ended = replace(transcript, outcome="limit_reached")
    return f"{briefing(task, transcript)}\n{briefing(task, ended)}"
