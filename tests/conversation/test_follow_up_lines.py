"""Lines of behaviours: which is chosen, and how facts are filled in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.conversation.follow_up_lines import drawn, filled, needs, usable
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.follow_up import FIELDS, Behaviour
from pytest_dialeval.suites.behaviours import BEHAVIOURS

DRAW = Draw("seed", "task", "persona", 1)
LINES = ("Why?", "{failing} fails.", "See {files}, {command}.")


def test_what_a_line_needs() -> None:
    assert needs("{failing}: {error} {{files}} {x}") == {"failing", "error"}


def test_facts_are_data() -> None:
    known = {"files": "{request} {0.__class__} {{", "request": "x"}
    assert filled("{files} {{request}} }}", known, "en") == "{request} {0.__class__} {{ {request} }"


def test_what_stands_for_a_missing_fact() -> None:
    assert filled("Look at {files}.", {}, "en") == "Look at what you changed."
    assert filled("请看 {files}。", {}, "zh-CN") == "请看 你改过的地方。"


def test_a_line_whose_fact_is_missing_gives_way() -> None:
    assert usable(LINES, {}) == ["Why?"]
    assert usable(LINES, {"failing": "t"}) == ["Why?", "{failing} fails."]
    assert usable(LINES[1:], {}) == LINES[1:]


def test_lines_that_were_said_come_last() -> None:
    behaviour = Behaviour("b", "g", {"en": ("One.", "Two.", "Three.")})
    said: list[str] = []
    for _ in range(3):
        line = drawn(behaviour, "en", {}, DRAW, said)
        assert line is not None
        said.append(line)
    assert sorted(said) == ["One.", "Three.", "Two."]
    assert drawn(behaviour, "en", {}, DRAW, said) == said[0]
    assert drawn(behaviour, "fr", {}, DRAW) is None


def test_another_seed_another_line() -> None:
    behaviour = Behaviour("b", "g", {"en": ("One.", "Two.", "Three.")})
    found = {drawn(behaviour, "en", {}, Draw(str(seed), "t", "p", 1)) for seed in range(30)}
    assert len(found) == 3


facts = st.dictionaries(st.sampled_from(FIELDS), st.text(min_size=1, max_size=30))


@pytest.mark.parametrize("language", ["en", "zh"])
@given(known=facts)
def test_no_field_of_ours_is_left_in_a_line(language: str, known: dict[str, str]) -> None:
    for behaviour in BEHAVIOURS.values():
        for line in behaviour.lines(language):
            rest = filled(line, dict.fromkeys(known, "!"), language)
            assert not needs(rest)
