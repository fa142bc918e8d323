"""What programs print anew in each run: left out of what a recorded reply is found by.

Agents run tests and show what came out; a run that replays their talk takes other milliseconds, in
another folder. Only forms that such output has, and that nobody writes in a criterion.
"""

from __future__ import annotations

import re

# What stands for it, and what it may be. Paths are bounded: a line of slashes must not take long.
_NAME = "dialeval-[a-z0-9_]{8}(?![a-z0-9_])"  # of the copy that an agent works in
_MARKS = {
    "<time>": r"\d+(?:\.\d+)? ?m?s\b(?: \(\d+:\d\d:\d\d\))?",
    "<folder>": rf"(?:[A-Za-z]:)?[/\\](?:[^\s\"'|<>]{{0,100}}?[/\\])?{_NAME}",
    "<address>": r"0x[0-9A-Fa-f]{6,16}\b",
}
_MARK = re.compile(f"({'|'.join(_MARKS)})")
_CLOCK = re.compile(rf"(?<![\d.]){_MARKS['<time>']}")
# Before a time: unittest; pytest, and cargo's "finished"; jest; go.
_TAKEN = re.compile(
    r"(?:\b[Rr]an \d+ tests? in "
    r"|\b(?:passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun|ran"
    r"|finished) in "
    r"|\b[Tt]ime: +"
    r"|\b(?:ok|FAIL|fail)(?:[ \t]|\\t)+\S{1,200}(?:[ \t]|\\t)+)$"
)
_BACK = 240  # characters before a time that are looked at
_ADDRESS = re.compile(f"at {_MARKS['<address>']}")
_WORD = re.compile(r"[^\s\"'|<>]+")
_BEGIN = re.compile(r"(?:\b[A-Za-z]:)?[/\\]")
_END = re.compile(rf"[/\\]{_NAME}")


def steady(text: str) -> str:
    """The text with marks where only this run's own times, folders and addresses stood."""
    text = _CLOCK.sub(_without_time, text)
    text = _ADDRESS.sub("at <address>", text)
    return _WORD.sub(_without_folder, text) if _END.search(text) else text


def as_in_any_run(text: str) -> re.Pattern[str] | None:
    """What finds the text in another run's output; None where it is the same in all of them."""
    parts = _MARK.split(steady(text))
    if len(parts) == 1:
        return None
    return re.compile("".join(_MARKS.get(each) or re.escape(each) for each in parts))


def _without_time(clock: re.Match[str]) -> str:
    start = clock.start()
    taken = _TAKEN.search(clock.string, max(0, start - _BACK), start)
    return "<time>" if taken else clock[0]


def _without_folder(word: re.Match[str]) -> str:
    """A path from its beginning to the copy's name is this machine's and this run's."""
    path = word[0]
    ends = list(_END.finditer(path))
    begin = _BEGIN.search(path)
    if not ends or begin is None:
        return path
    return f"{path[: begin.start()]}<folder>{path[ends[-1].end() :]}"
