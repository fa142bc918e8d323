"""The beginning and the end of a long output: 100 MB cost neither memory nor disk."""

from __future__ import annotations

from pytest_dialeval.records.text import clean


class Kept:
    """Takes whatever comes, and keeps so many bytes of it."""

    def __init__(self, at_most: int) -> None:
        self._half = at_most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def take(self, data: bytes) -> None:
        """What comes next."""
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        over = len(self._tail) - self._half
        if over > 0:
            del self._tail[:over]
            self._left_out += over

    @property
    def text(self) -> str:
        """As far as it is text, with a line in the middle that says how much is missing."""
        gap = f"\n[... {self._left_out} bytes left out ...]\n" if self._left_out else ""
        parts = (bytes(each).decode("utf-8", "replace") for each in (self._head, self._tail))
        if not gap:
            return clean(bytes(self._head + self._tail).decode("utf-8", "replace"))
        return clean(gap.join(parts))
