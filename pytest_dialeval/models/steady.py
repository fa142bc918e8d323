"""What programs print anew in each run: left out of what a recorded reply is found by.

Agents run tests and show what came out; a run that replays their talk takes other milliseconds, in
another folder. Only whole forms that such output has, and that nobody writes in a criterion:
"finished in 30 s" is what an agent may say, and another number there is another question.
"""

from __future__ import annotations

import re

# What stands for it, and what it may be. Paths are bounded: a line of slashes must not take long.
_NAME = "dialeval-[a-z0-9_]{8}(?![a-z0-9_])"  # of the copy that an agent works in
_IN_NAMES = ".+~@$%-"
_MARKS = {
    "<time>": r"\d+(?:\.\d+)? ?m?s\b(?: \(\d+:\d\d:\d\d\))?",
    "<folder>": rf"(?:[A-Za-z]:)?[/\\](?:[/\\\w{_IN_NAMES}]{{0,100}}?[/\\])?{_NAME}",
    "<address>": r"0x[0-9A-Fa-f]{6,16}\b",
}
_MARK = re.compile(f"({'|'.join(_MARKS)})")
_CLOCK = re.compile(rf"(?<![\d.]){_MARKS['<time>']}")
_SHORT = r"\d+\.\d\ds(?: \(\d+:\d\d:\d\d\))?"  # two decimals, always
_LONG = r"\d+(?:\.\d+)? m?s"
_WORD = r"(?:\b|(?<=\\[nt]))"  # where one begins, behind a line break as JSON writes it too
_GAP = r"(?:[ \t]|\\t){1,9}"
# The forms up to the end of a time: unittest, pytest, cargo, jest, go.
_TAKEN = re.compile(
    rf"(?:{_WORD}[Rr]an \d+ tests? in \d+(?:\.\d+)?s"
    rf"|{_WORD}(?:no tests ran|\d+ (?:subtests )?(?:passed|failed|skipped|deselected"
    rf"|xfailed|xpassed|errors?|warnings?|rerun)) in {_SHORT}"
    rf"|(?:; finished|\btarget\(s\)) in {_SHORT}"
    rf"|(?:Time: {{4,}}|\d total\s[Tt]ime: +){_LONG}(?:, estimated {_LONG})?"
    r"|[✓✕√×] [^\n]{1,200} \((?:\d+ ?ms|\d+\.\d{3} s)"
    rf"|--- (?:PASS|FAIL|SKIP|pass|fail|skip): \S{{1,200}} \({_SHORT}"
    rf"|\b(?:PASS|FAIL|pass|fail) \S{{1,200}}\.[cm]?[jt]sx? \({_LONG}"
    rf"|{_WORD}(?:ok|FAIL|fail){_GAP}\S{{1,200}}?{_GAP}\d+\.\d{{3}}s)\Z"
)
# A line of pytest's --durations goes on behind its time.
_PHASE = re.compile(r"\s+(?:call|setup|teardown)\s+\S+::")
_LEADS = ("(", ": ", "  ", "\t", "\\t", "estimated ")  # any other time is soon passed over
_THREE = re.compile(r"\.\d{3}s\Z")  # go's, whose tabs may have become single spaces
_BACK, _NEAR = 240, 40  # characters before a time or a folder that are looked at
_FILL = re.compile(r"(?<!=)=+( [^\n=]{1,200} in <time> )=+")  # as long as the time is short
_ADDRESS = re.compile(rf"(<[^<>\n]{{1,200}}|\bobject) at {_MARKS['<address>']}")
_END = re.compile(rf"(?:/|\\{{1,4}}){_NAME}")
# Letters of no other alphabet, but behind a drive: text without spaces may stand before a path.
_BEGIN = re.compile(
    rf"(?:(?<![^\s\"'(=])[A-Za-z]:(?:[/\\]+[\w{_IN_NAMES}]+)*"
    rf"|(?:/+[A-Za-z0-9_{_IN_NAMES}]+)*|(?:\\+[A-Za-z0-9_{_IN_NAMES}]+)*)\Z"
)
_LONGEST = 10_000  # characters of a quote: its pattern takes time to make


def steady(text: str) -> str:
    """The text with marks where only this run's own times, folders and addresses stood."""
    return _FILL.sub(r"===\1===", _marked(text))


def as_in_any_run(text: str) -> re.Pattern[str] | None:
    """What finds the text in another run's output; None where it is the same in all of them.

    A mark in the text itself is a word like others, and stands for nothing.
    """
    if len(text) > _LONGEST or _MARK.search(text):
        return None
    parts = _MARK.split(_marked(text))
    if len(parts) == 1:
        return None
    whole = r"(?<![\d.])" if text[0].isdigit() else ""  # "1 passed" is not in "11 passed"
    return re.compile(whole + "".join(_MARKS.get(each) or re.escape(each) for each in parts))


def _marked(text: str) -> str:
    text = _CLOCK.sub(_without_time, text)
    return _without_folders(_ADDRESS.sub(r"\1 at <address>", text))


def _without_time(clock: re.Match[str]) -> str:
    text, start, end = clock.string, clock.start(), clock.end()
    back = _back(text[max(0, start - 10) : start], clock[0])
    taken = _PHASE.match(text, end) or (back and _TAKEN.search(text, max(0, start - back), end))
    return "<time>" if taken else clock[0]


def _back(before: str, clock: str) -> int:
    """How far to look back from a time; 0 where nothing of a program's can stand before it."""
    if before.endswith("in "):
        return _NEAR
    return _BACK if before.endswith(_LEADS) or _THREE.search(clock) else 0


def _without_folders(text: str) -> str:
    """A path from its beginning to the copy's name is this machine's and this run's."""
    kept, last = [], 0
    for end in _END.finditer(text):
        begin = _BEGIN.search(text, max(last, end.start() - _BACK), end.start())
        kept += [text[last : begin.start() if begin else end.start()], "<folder>"]
        last = end.end()
    return "".join([*kept, text[last:]])
