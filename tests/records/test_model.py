"""What a chat model answered."""

from __future__ import annotations

from dataclasses import fields, replace

from pytest_dialeval.records.model import ChatAnswer, ModelToolCall
from pytest_dialeval.records.transcript import Usage


def test_an_answer_with_what_it_took_is_the_same_in_all_else() -> None:
    calls = (ModelToolCall("1", "price", "{}"),)
    answer = ChatAnswer("text", calls, "length", "no", Usage(1, 2, 3, 4.0), "model", 5.0, 6.0, 7)
    defaults = ChatAnswer("")
    for each in fields(ChatAnswer):  # else a field could be dropped without being missed
        assert getattr(answer, each.name) != getattr(defaults, each.name)
    assert answer.after(0.5, 2) == replace(answer, seconds=0.5, tries=2)
