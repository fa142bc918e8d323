"""What numbers may come from: the task, the user, the tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from pytest_dialeval.matching.arithmetic import OPERANDS_AT_MOST
from pytest_dialeval.matching.dates import Date
from pytest_dialeval.matching.figures import Figure, figures
from pytest_dialeval.matching.normal import normal, typed
from pytest_dialeval.records.transcript import ToolCall

# Tool results are data: digits anywhere in them count, inside names and keys too.
_RAW_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d{1,10})?|\d{1,30}(?:\.\d{1,10})?")
_RAW_DATE_OR_TIME = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?|\d{1,4}(?:-\d{2,8}){2,}"
    r"|\d{1,2}月\d{1,2}[日号]",
    re.IGNORECASE,
)
_TEXT_AT_MOST = 200_000
_HALF_DAY = 12 * 60


class Grounds:
    """Grows as a conversation goes on; `hold` says whether a number has been met."""

    def __init__(self) -> None:
        self._numbers: set[Decimal] = set()
        self._dates: set[Date] = set()
        self._times: set[int] = set()
        self._codes: set[str] = set()
        self.operands: list[Decimal] = []  # may be computed with in every turn
        self.written: dict[str, None] = {}  # the figures of texts as they stand there, in order

    def add_value(self, value: object) -> None:
        """Every number in JSON-like data, also those inside strings; truth values are none."""
        if isinstance(value, Mapping):
            for each in value.values():
                self.add_value(each)
        elif isinstance(value, list | tuple | set | frozenset):
            for each in value:
                self.add_value(each)
        elif value is not None and not isinstance(value, bool):
            self.add_text(str(value))

    def add_text(self, text: str) -> None:
        """Every number, date, time and code in a text, but for the markers of its lists."""
        text = text[:_TEXT_AT_MOST]
        whole = normal(text).text
        rest = list(whole)
        for each in figures(text):
            written = whole[each.start : each.end]
            # "2. the price" is no ground for saying 2, nor is 1½, which is 11⁄2 here, for 11.
            if each.label or "\u2044" in written:
                rest[each.start : each.end] = " " * (each.end - each.start)
            if not each.label:
                self._add(each)
                self.written[written] = None
        self._add_digits("".join(rest))

    def add_figures(self, found: Iterable[Figure]) -> None:
        """Figures that were found to be right."""
        for each in found:
            self._add(each)

    def add_calls(self, calls: Iterable[ToolCall]) -> None:
        """Every number in the arguments and results of tool calls."""
        for call in calls:
            for text in (str(call), call.result or ""):
                self._add_digits(text[:_TEXT_AT_MOST])
                for match in _RAW_DATE_OR_TIME.finditer(text[:_TEXT_AT_MOST]):
                    for each in figures(match.group()):
                        self._add(each)

    def keep_as_operands(self) -> None:
        """What is known now may be computed with in every turn."""
        self.operands = sorted(self._numbers)[:OPERANDS_AT_MOST]

    def _add(self, figure: Figure) -> None:
        match figure.value:
            case Decimal():
                self._numbers.add(abs(figure.value))
            case tuple():
                self._dates.add(figure.value)
                self._numbers.update(Decimal(part) for part in figure.value if part)
            case int():
                self._times.add(figure.value % _HALF_DAY)
                self._numbers.update((Decimal(figure.value // 60), Decimal(figure.value % 60)))
            case str():
                self._codes.add(figure.value)

    def _add_digits(self, text: str) -> None:
        for written in _RAW_NUMBER.findall(typed(text)):
            self._numbers.add(Decimal(written.replace(",", "")))
            self._codes.add(written)

    def hold(self, figure: Figure) -> bool:
        """Whether it was met: a percentage as a share too, a date without its year too."""
        match figure.value:
            case Decimal() as value:
                return abs(value) in self._numbers or (
                    figure.unit == "%" and abs(value) / 100 in self._numbers
                )
            case (year, month, day):
                return any(
                    (month, day) == (each[1], each[2]) and (year is None or each[0] in (None, year))
                    for each in self._dates
                )
            case int() as minute:
                return minute % _HALF_DAY in self._times
            case value:
                return value in self._codes

    def hold_tail(self, digits: str) -> bool:
        """Whether a longer code that was met ends so."""
        return any(each.endswith(digits) for each in self._codes)
