"""Lines of a behaviour in the language of the talk."""

from __future__ import annotations

import pytest

from pytest_dialeval.records.follow_up import Behaviour

LINES = Behaviour("b", "ask", {"en": ("Hi.",), "zh": ("你好。",), "pt-BR": ("Oi.",)})


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("en", ("Hi.",)),
        ("en-GB", ("Hi.",)),
        ("zh-TW", ("你好。",)),
        ("pt-br", ("Oi.",)),
        ("pt", ()),
        ("fr", ()),
    ],
)
def test_lines_of_the_language_or_of_its_base(language: str, lines: tuple[str, ...]) -> None:
    assert LINES.lines(language) == lines
