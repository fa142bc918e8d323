"""One line for the terminal."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """`colour` is one of pytest's markup names, or empty."""

    text: str
    colour: str = ""
