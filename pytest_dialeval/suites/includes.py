"""The files of a suite: personas and rubrics from the suite file and from what it includes."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.paths import inside
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.source import Source
from pytest_dialeval.suites.suite_form import PartForm

_DEEPEST = 50


@dataclass(slots=True)
class Parts:
    """Where every persona and rubric stands, in the order of reading."""

    personas: list[Place] = field(default_factory=list)
    rubrics: list[Place] = field(default_factory=list)
    whole: bool = True  # False: a file could not be read, so others may be missing


def gathered(suite: Place, reading: Reading) -> Parts:
    """The suite file's own parts, then those of each included file, each file once."""
    parts = Parts()
    _gather(suite, reading, parts, [suite.source])
    return parts


def _gather(file: Place, reading: Reading, parts: Parts, chain: list[Source]) -> None:
    parts.personas += file.items("personas")
    parts.rubrics += file.items("rubrics")
    for place in file.items("include"):
        if isinstance(place.value, str) and place.value.strip():
            _include(place, place.value, reading, parts, chain)


def _include(
    place: Place, written: str, reading: Reading, parts: Parts, chain: list[Source]
) -> None:
    path = inside(place, written, reading.rootdir)
    if path is None:
        parts.whole = False
        return
    for number, each in enumerate(chain):
        if each.path.resolve() == path:
            circle = " -> ".join(each.file for each in [*chain[number:], each])
            place.error(f"{shown(written)} is included in a circle: {circle}")
            return
    if len(chain) > _DEEPEST:
        place.error(f"files are included more than {_DEEPEST} deep")
    if path in reading.sources or len(chain) > _DEEPEST:
        return
    try:
        source = reading.open(path)
    except SuiteError as exc:
        place.source.problems.extend(exc.problems)
        parts.whole = False
        return
    included = Place(source)
    included.read(PartForm)
    _gather(included, reading, parts, [*chain, source])
