"""What is known of the rounds so far, read from turns and from the folder's work; no model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_dialeval.conversation.run_output import error_line, failed_test, fails
from pytest_dialeval.matching.claims_of_tests import claims, runs_tests
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.records.follow_up import ANCHOR
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import ToolCall, Turn
from pytest_dialeval.records.wording import listed
from pytest_dialeval.records.work import PATCH, Check, Done

_READ = 20_000  # characters at the end of an answer: what counts is said last
_QUOTED = 120  # characters of a fact: it stands inside a sentence
_COMMAND_KEYS = ("command", "cmd", "commands", "script")
_SHELLS = ("bash", "shell", "sh", "terminal", "execute", "run")
_ADDED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_ENDS = (".", "!", "?", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class Past:
    """One round: what the user said, what the agent answered, what the folder held then."""

    number: int
    state: str  # request, anchor, or the behaviour's id
    instruction: str
    reply: Turn | None = None
    done: Done | None = None


def command_of(call: ToolCall) -> str | None:
    """The command that a call runs; None where it runs none that is told."""
    arguments = call.arguments
    if isinstance(arguments, str):
        return clean(arguments) if call.name.lower() in _SHELLS else None
    found = None
    if isinstance(arguments, Mapping):
        found = next((arguments[each] for each in _COMMAND_KEYS if arguments.get(each)), None)
    if isinstance(found, Sequence) and not isinstance(found, str):
        found = " ".join(map(str, found))
    return clean(found) if isinstance(found, str) else None


def calls_of(past: Past) -> tuple[ToolCall, ...]:
    """The agent's calls in a round."""
    return past.reply.tool_calls if past.reply else ()


def patch_of(past: Past) -> str:
    """The changes so far, as the folder or the agent itself shows them."""
    if past.done is not None:
        return past.done.patch
    artifacts = past.reply.artifacts if past.reply else ()
    return next((each.text for each in reversed(artifacts) if each.name == PATCH), "")


def check_of(past: Past) -> Check | None:
    """What the verifier said after a round."""
    return past.done.check if past.done else None


def last_patch(rounds: Sequence[Past]) -> str:
    """The changes as they are now; empty where the agent took them all back, or shows none."""
    known = (each for each in reversed(rounds) if each.done is not None or patch_of(each))
    return next(map(patch_of, known), "")


def _on_the_same_files(rounds: Sequence[Past]) -> Iterator[Past]:
    """The last round, and those before it that left the work as it is now; all without a folder."""
    for past in reversed(rounds):
        yield past
        if past.done is not None and past.done.work.changed:
            return


def last_check(rounds: Sequence[Past]) -> Check | None:
    """The verifier's word on the work as it is now; None where it was changed since."""
    return next(filter(None, map(check_of, _on_the_same_files(rounds))), None)


def failing_checks(check: Check | None) -> list[str]:
    """The names of what failed."""
    return [name for name, passed in (check.checks if check else {}).items() if not passed]


def output_of_tests(rounds: Sequence[Past]) -> str:
    """What the last run of tests on the work as it is now printed: the verifier's, else its own."""
    check = last_check(rounds)
    if check is not None and check.output.strip():
        return check.output
    for past in _on_the_same_files(rounds):
        for call in reversed(calls_of(past)):
            if call.result and runs_tests(call):
                return call.result
    return ""


def troubles(rounds: Sequence[Past]) -> Iterator[str]:
    """Signs of trouble in the last round, a sentence each."""
    if not rounds or rounds[-1].reply is None:
        return
    last = rounds[-1]
    for call in calls_of(last):
        if call.error:
            yield f"the call of {call.name} failed: {_line(error_line(call.result or ''))}"
    check = check_of(last)
    if check is not None and check.passed is False:
        names = failing_checks(check)
        yield f"failing checks: {listed(names, 10)}" if names else "the check failed"
    if last.done is not None:
        if not last.done.work.changed:
            yield "no new patch in this round"
        if last.done.work.note:
            yield last.done.work.note
    if _claims_tests(last) and not _tested(rounds):
        yield "it says that tests ran or passed, but no command of this round ran any"


def _claims_tests(past: Past) -> bool:
    said = past.reply.text if past.reply else ""
    return any(claims(normal(said[-_READ:])))


def _tested(rounds: Sequence[Past]) -> bool:
    """Whether tests ran in the last round, or before it on the same files."""
    known = rounds[-1:] if rounds[-1].done is None else _on_the_same_files(rounds)
    return any(runs_tests(call) for each in known for call in calls_of(each))


def facts(request: str, rounds: Sequence[Past]) -> dict[str, str]:
    """The facts that are known, by the name that lines have for them (follow_up.FIELDS)."""
    # What was written by hand is most likely a requirement; else what is longest ago.
    earlier = sorted(rounds[1:], key=lambda each: each.state != ANCHOR)
    replies = [each.reply.text for each in rounds if each.reply]
    commands = [each for past in rounds for each in _commands(past)]
    check = last_check(rounds)
    output = output_of_tests(rounds)
    # A verifier that is content has nothing that fails, whatever the agent's own runs said before.
    broken = check is None or check.passed is not True
    told = output if check is not None or fails(output) else ""
    found = {
        "request": _sentence(request),
        "earlier": _sentence(earlier[0].instruction) if earlier else "",
        "said": _said(replies[-1]) if replies else "",
        "files": listed(_files(rounds), 3),
        "command": _line(commands[-1]) if commands else "",
        "failing": _line(_failing(check, output)) if broken else "",
        "error": _line(_error(rounds, told)).rstrip(".:;。") if broken else "",
    }
    return {name: value for name, value in found.items() if value}


def _commands(past: Past) -> Iterator[str]:
    return filter(None, map(command_of, calls_of(past)))


def _files(rounds: Sequence[Past]) -> tuple[str, ...]:
    for past in reversed(rounds):
        if past.done is not None:
            return tuple(map(_line, past.done.work.files))
        if patch := patch_of(past):
            files = (each for each in _ADDED.findall(patch) if each != "/dev/null")
            return tuple(dict.fromkeys(map(_line, files)))
    return ()


def _failing(check: Check | None, output: str) -> str:
    return next(iter(failing_checks(check)), "") or failed_test(output)


def _error(rounds: Sequence[Past], output: str) -> str:
    told = [*_failed_calls(rounds), output]
    return next(filter(None, map(error_line, reversed(told))), "")


def _failed_calls(rounds: Sequence[Past]) -> list[str]:
    """What calls of the last round gave that failed, since tests ran last and did not."""
    failed: list[str] = []
    for call in calls_of(rounds[-1]) if rounds else ():
        if call.error:
            failed.append(call.result or "")
        elif runs_tests(call) and not fails(call.result or ""):
            failed.clear()
    return failed


def _said(text: str) -> str:
    """The first sentence that says something: one of four words, or twelve characters."""
    found = (each.strip() for each in _SENTENCE.findall(clean(text[:5_000])))
    told = (each for each in found if len(each.split()) >= 4 or _is_wide(each))
    return _sentence(next(told, ""))


def _is_wide(text: str) -> bool:
    return len(text) >= 12 and len(text.split()) < 3 and any("\u4e00" <= each for each in text)


def _sentence(text: str) -> str:
    """One line with a full stop at its end, so that another sentence can follow."""
    line = _line(text)
    if not line or line.endswith((*_ENDS, "...")):
        return line
    return line + ("。" if any("\u4e00" <= each <= "\u9fff" for each in line[-3:]) else ".")


def _line(text: str) -> str:
    line = " ".join(clean(text[: 20 * _QUOTED]).split())
    return line if len(line) <= _QUOTED else f"{line[: _QUOTED - 3].rstrip()}..."


def quoted_commands(calls: Iterable[ToolCall], result: int) -> Iterator[str]:
    """Each call in a line, with the end of what it gave back: `result` characters at most."""
    for call in calls:
        gave = clean(call.result or "").strip()
        gave = f"...{gave[-result:]}" if len(gave) > result else gave
        what = command_of(call) or str(call)
        failed = " (failed)" if call.error else ""
        yield f"{call.name}{failed}: {_line(what)}" + (f"\n{gave}" if gave else "")
