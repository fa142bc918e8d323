"""The automaton that a regular expression stands for, as far as its running time depends on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_COPIED_AT_MOST = 3  # `(...){3}` is written out; more is taken for a loop
_SAMPLES = "azAZ09_ \n\t-.,!$\u00e9\u4e2d\uac00"
_CATEGORIES = {
    op.CATEGORY_DIGIT: re.compile(r"\d"),
    op.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    op.CATEGORY_SPACE: re.compile(r"\s"),
    op.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    op.CATEGORY_WORD: re.compile(r"\w"),
    op.CATEGORY_NOT_WORD: re.compile(r"\W"),
}


@dataclass(slots=True)
class _Part:
    """A piece of the pattern: which positions may come first and last, each as often as it may.

    `empty` counts the ways in which the piece takes nothing (2 stands for any more).
    """

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    empty: int = 1


class Automaton:
    """Positions of a pattern, the characters each takes, and which may follow which."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        tree = _parser.parse(pattern, flags)
        self._dot_all = bool(tree.state.flags & re.DOTALL)
        self._alphabet = sorted({*_SAMPLES, *_mentioned(tree)})
        self.masks: list[int] = []
        self.follow: list[Counter[int]] = []
        self.bounds: dict[int, int] = {}  # position -> how often its loop may turn
        self.repeats_nothing = False  # whether a loop goes round a piece that takes no character
        self._looks_on = False
        whole = self._sequence(tree)
        # Where nothing is asked of what follows, a match that came so far cannot fail.
        self.safe = set() if self._looks_on else set(whole.last)

    def _sequence(self, nodes: Iterable[tuple[Any, Any]]) -> _Part:
        whole = _Part()
        for kind, value in nodes:
            whole = self._joined(whole, self._node(kind, value))
        return whole

    def _node(self, kind: Any, value: Any) -> _Part:
        match kind:
            case op.LITERAL | op.NOT_LITERAL | op.ANY | op.IN | op.CATEGORY | op.RANGE:
                return self._position(self._mask(kind, value))
            case op.BRANCH:
                return self._either([self._sequence(each) for each in value[1]])
            case op.SUBPATTERN:
                return self._sequence(value[3])
            case op.MAX_REPEAT | op.MIN_REPEAT:
                return self._repeat(*value)
            case op.POSSESSIVE_REPEAT:
                return self._unbacktracked(value[2])
            case op.ATOMIC_GROUP:
                return self._unbacktracked(value)
            case op.ASSERT | op.ASSERT_NOT:
                self._looks_on = True
                self._sequence(value[1])  # its own loops count, but nothing follows them
                return _Part()
            case op.GROUPREF_EXISTS:
                parts = [self._sequence(each or ()) for each in value[1:]]
                return self._either(parts)
            case op.GROUPREF:
                return self._looped(self._position(self._everything))
            case _:  # anchors take no character
                self._looks_on = True
                return _Part()

    def _position(self, mask: int) -> _Part:
        self.masks.append(mask)
        self.follow.append(Counter())
        return _Part([len(self.masks) - 1], [len(self.masks) - 1], empty=0)

    def _joined(self, left: _Part, right: _Part) -> _Part:
        for each in left.last:
            self.follow[each].update(right.first)
        return _Part(
            left.first + right.first * left.empty,
            right.last + left.last * right.empty,
            min(2, left.empty * right.empty),
        )

    def _either(self, parts: Sequence[_Part]) -> _Part:
        return _Part(
            [each for part in parts for each in part.first],
            [each for part in parts for each in part.last],
            min(2, sum(part.empty for part in parts)),
        )

    def _repeat(self, least: int, most: int, nodes: Sequence[tuple[Any, Any]]) -> _Part:
        is_one_char = len(nodes) == 1 and nodes[0][0] in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
        if most == 0:
            return _Part()
        if least == most and (is_one_char or most <= _COPIED_AT_MOST):
            copies = 1 if is_one_char else most
            whole = _Part()
            for _ in range(copies):
                whole = self._joined(whole, self._sequence(nodes))
            self.repeats_nothing |= most > 1 and not whole.first
            return whole
        start = len(self.masks)
        part = self._sequence(nodes)
        if most > 1:
            self.repeats_nothing |= not part.first
            part = self._looped(part)
            if most is not op.MAXREPEAT and most < op.MAXREPEAT:
                self.bounds.update(
                    (each, self.bounds.get(each, 1) * most)
                    for each in range(start, len(self.masks))
                )
        part.empty = min(2, part.empty + (least == 0))
        return part

    def _looped(self, part: _Part) -> _Part:
        for each in part.last:
            self.follow[each].update(part.first)
        return part

    def _unbacktracked(self, nodes: Iterable[tuple[Any, Any]]) -> _Part:
        start = len(self.masks)
        part = self._sequence(nodes)
        mask = 0
        for each in self.masks[start:]:
            mask |= each
        single = self._position(mask)
        single.empty = min(1, part.empty)
        return single

    @property
    def _everything(self) -> int:
        return (1 << len(self._alphabet)) - 1

    def _mask(self, kind: Any, value: Any) -> int:
        mask = 0
        for place, char in enumerate(self._alphabet):
            # Case is left out of account: it can only make loops look more alike.
            if any(self._takes(kind, value, each) for each in {char, char.swapcase()[:1]}):
                mask |= 1 << place
        return mask

    def _takes(self, kind: Any, value: Any, char: str) -> bool:
        match kind:
            case op.LITERAL:
                return bool(ord(char) == value)
            case op.NOT_LITERAL:
                return bool(ord(char) != value)
            case op.ANY:
                return self._dot_all or char != "\n"
            case op.RANGE:
                return bool(value[0] <= ord(char) <= value[1])
            case op.CATEGORY:
                return bool(_CATEGORIES[value].match(char)) if value in _CATEGORIES else True
            case _:
                negated = bool(value) and value[0][0] is op.NEGATE
                inside = any(self._takes(key, each, char) for key, each in value[negated:])
                return inside != negated


def _mentioned(nodes: Iterable[tuple[Any, Any]]) -> set[str]:
    """The characters that a pattern names, and those just outside its ranges."""
    found: set[str] = set()
    pending: list[Any] = list(nodes)
    while pending:
        each = pending.pop()
        if isinstance(each, tuple) and len(each) == 2 and each[0] in (op.LITERAL, op.NOT_LITERAL):
            found.add(chr(each[1]))
        elif isinstance(each, tuple) and len(each) == 2 and each[0] is op.RANGE:
            low, high = each[1]
            codes = (low - 1, low, (low + high) // 2, high, high + 1)
            found.update(chr(code) for code in codes if 0 <= code <= 0x10FFFF)
        elif isinstance(each, tuple | list | _parser.SubPattern):
            pending.extend(each)
    return found
