"""What is checked of a model's follow-up beside what holds for every line of the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dialeval.conversation.user_checks import Expected, check_line, reads_out
from pytest_dialeval.conversation.user_reply import UnusableLine

# Words in a row. An error's text or a file's path is quoted by honest people.
_OF_WORK = 12  # of patches and of what tests print
_OF_HIDDEN = 7
_FENCE = re.compile(r"```|~~~")
_PATCH_HEAD = re.compile(
    r"^(?:diff --git |@@ .*@@|\+\+\+ \S|--- [ab]/|Index: \S|\*\*\* (?:Begin|Update|Add|Delete) )",
    re.MULTILINE,
)
# Lists of points begin with a dash too, so removed lines count beside added ones alone.
_ADDED = re.compile(r"^\+[ \t]*[^\s\d+]", re.MULTILINE)
_REMOVED = re.compile(r"^-[ \t]*[^\s\d-]", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*(?:(?:async )?def \w+\(|class \w+[:(]|import [\w.]+[ \t]*$|from [\w.]+ import "
    r"|(?:if|for|while|with|try|else|elif|except)\b[^.?!\n]*:[ \t]*$|return\b[^.?!\n]*$"
    r"|(?:(?:const|let|var|public|private|func|fn) )?[\w.\[\]]+ ?[-+*/]?= ?\S"
    r"|\S[^\n]{0,300}[;{}][ \t]*$|@\w+[\w.()]*[ \t]*$)",
    re.MULTILINE,
)
_MOST_CODE = 1  # lines that look like code
_READ = 20_000  # characters: one that is longer is refused for its length


@dataclass(frozen=True, slots=True)
class Guarded:
    """Texts that a follow-up must not give away."""

    work: Sequence[str] = ()  # patches, and output of tests
    hidden: Sequence[str] = ()  # what no agent may read: what anchors are meant for


def check_follow_up(line: str, expected: Expected, guarded: Guarded) -> None:
    """UnusableLine says why the message cannot be sent."""
    _check_unsolved(line[:_READ])
    check_line(line, expected)
    allowed = [*expected.said, *expected.heard, *expected.state.say]
    if reads_out(line, guarded.hidden, allowed, _OF_HIDDEN):
        raise UnusableLine("leaked", "it told what the agent must not know: ask, and tell nothing")
    if reads_out(line, guarded.work, allowed, _OF_WORK):
        text = "it copied from the patch or from what tests printed: name the place, in few words"
        raise UnusableLine("solved", text)


def _check_unsolved(line: str) -> None:
    """The user asks for work, and does none of it."""
    if _FENCE.search(line):
        raise UnusableLine("solved", "it held a block of code: ask for it, and write none")
    added, removed = len(_ADDED.findall(line)), len(_REMOVED.findall(line))
    if _PATCH_HEAD.search(line) or (added and added + removed > _MOST_CODE):
        raise UnusableLine("solved", "it held a patch: ask for the change, and write none")
    if len(_CODE.findall(line)) > _MOST_CODE:
        raise UnusableLine("solved", "it held lines of code: ask for them, and write none")
