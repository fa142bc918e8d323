"""A place in a YAML file: what stands there, and where problems with it are noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from pytest_dialeval.suites.form import Form
from pytest_dialeval.suites.source import Source
from pytest_dialeval.suites.wording import Level, worded

F = TypeVar("F", bound=Form)


@dataclass(frozen=True, slots=True)
class Place:
    """One value of a file, found by the keys and indices that lead to it."""

    source: Source = field(repr=False)
    path: tuple[str | int, ...] = ()

    @property
    def value(self) -> object:
        """What stands here; None where the file holds nothing here."""
        value = self.source.value
        for part in self.path:
            value = _inside(value, part)
        return value

    @property
    def line(self) -> int:
        """Its line in the file."""
        return self.source.line(self.path)

    def at(self, *parts: str | int) -> Place:
        """A place below this one."""
        return Place(self.source, (*self.path, *parts))

    def items(self, key: str) -> list[Place]:
        """The places of a list's items; none where no list stands there."""
        value = self.at(key).value
        count = len(value) if isinstance(value, list) else 0
        return [self.at(key, index) for index in range(count)]

    def error(self, text: str) -> None:
        """Note what is wrong with this place."""
        self.source.add(self.line, text)

    def note(self, text: str) -> None:
        """Note what may be meant otherwise, though nothing is wrong."""
        self.source.add(self.line, text, "note")

    def read(
        self,
        form: type[F],
        value: object = ...,
        *,
        around: Sequence[Level] = (),
        strange: Iterable[str] = (),
    ) -> F | None:
        """The value in its form; problems are noted and give None (`wording.worded` has more)."""
        try:
            return form.model_validate(self.value if value is ... else value)
        except ValidationError as exc:
            for path, text in worded(form, exc, around=around, strange=strange):
                self.at(*path).error(text)
            return None


def _inside(value: object, part: str | int) -> object:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
        return value[part]
    return None
