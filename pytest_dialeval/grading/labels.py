"""What people said about judged rubrics, as they wrote it down: JSONL or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.records.suite import Problem
from pytest_dialeval.records.wording import did_you_mean

Part = Literal["tuning", "acceptance"]
PARTS: tuple[Part, ...] = get_args(Part)
_NEEDED = ("run", "trial", "rubric", "label", "labeller")
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("met", "passed", "true", "1"), True),
    **dict.fromkeys(("not_met", "failed", "false", "0"), False),
    "cannot_tell": None,
}
_Row = Mapping[str, object]


class About(NamedTuple):
    """What a label is about."""

    run: str
    trial: str
    rubric: str


@dataclass(frozen=True, slots=True)
class Label:
    """One person's answer; `met` is None where even a person cannot tell."""

    about: About
    met: bool | None
    labeller: str
    part: Part
    # Whether the row leaves its part open, so that the trial's id decides.
    by_lot: bool = field(default=False, compare=False)

    def of_trial(self, trial: str) -> Label:
        """The same with the trial's id in place of what was written for it."""
        part = part_of(self.about.run, trial) if self.by_lot else self.part
        return replace(self, about=self.about._replace(trial=trial), part=part)


def read_labels(path: Path) -> tuple[Label, ...]:
    """All labels of a file; SuiteError names every mistake with its line.

    A row without a label is not done yet and left out. Where one person labels the same twice, the
    later row counts.
    """
    problems: list[Problem] = []
    found: dict[tuple[About, str], Label] = {}
    for line, row in _rows(path):
        try:
            label = _label(row)
        except ValueError as problem:
            problems.append(Problem(str(path), line, str(problem)))
            continue
        if label is not None:
            found[label.about, label.labeller] = label
    if problems:
        raise SuiteError(problems)
    return tuple(found.values())


def part_of(run: str, trial: str) -> Part:
    """Where a label belongs that does not say so: half of the trials each, always the same half.

    All labels of a trial go together: what was learned from one of them would leak into the other.
    """
    digest = blake2b(json.dumps([run, trial]).encode(), digest_size=1).digest()
    return PARTS[digest[0] % len(PARTS)]


def _rows(path: Path) -> Iterator[tuple[int, _Row]]:
    readers: Mapping[str, Callable[[str, str], Iterator[tuple[int, _Row]]]] = {
        ".jsonl": _from_jsonl,
        ".csv": _from_csv,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise _refused(str(path), 1, f"labels are .jsonl or .csv, not {path.suffix!r}")
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets write a mark in front
    except OSError as problem:
        raise _refused(str(path), 1, f"cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise _refused(str(path), 1, f"is no UTF-8 at byte {problem.start}") from None
    return reader(text, str(path))


def _from_jsonl(text: str, file: str) -> Iterator[tuple[int, _Row]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise _refused(file, number, f"is no JSON: {problem}") from None
        if not isinstance(row, dict):
            raise _refused(file, number, "is no JSON object; a label is one object a line")
        yield number, row


def _from_csv(text: str, file: str) -> Iterator[tuple[int, _Row]]:
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)  # spreadsheets write what their country is used to
    rows = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        names = [each.strip() for each in rows.fieldnames or ()]
        for name in _NEEDED:
            if name not in names:
                raise _refused(file, 1, f"no column {name!r}; needed: {_listed()}")
        rows.fieldnames = names
        for row in rows:
            yield rows.line_num, row
    except csv.Error as problem:
        raise _refused(file, rows.reader.line_num, f"is no CSV: {problem}") from None


def _label(row: _Row) -> Label | None:
    written = row.get("label")
    if "label" in row and written in (None, ""):
        return None
    run, trial, rubric, word, labeller = (_text(row, each) for each in _NEEDED)
    word = word.lower().replace(" ", "_").replace("-", "_")
    if word not in _WORDS:
        guess = did_you_mean(word, ["met", "not_met", "cannot_tell"])
        raise ValueError(f"label {written!r} is none of met, not_met, cannot_tell{guess}")
    about = About(run, trial, rubric)
    part = row.get("part")
    return Label(about, _WORDS[word], labeller, _part(part, about), part in (None, ""))


def _part(written: object, about: About) -> Part:
    if written in (None, ""):
        return part_of(about.run, about.trial)
    for part in PARTS:
        if written == part:
            return part
    raise ValueError(f"part {written!r} is none of {', '.join(PARTS)}")


def _text(row: _Row, name: str) -> str:
    value = row.get(name)
    if isinstance(value, bool | int):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no {name!r}; needed: {_listed()}")
    return value.strip()


def _listed() -> str:
    return ", ".join(_NEEDED)


def _refused(file: str, line: int, text: str) -> SuiteError:
    return SuiteError([Problem(file, line, text)])
