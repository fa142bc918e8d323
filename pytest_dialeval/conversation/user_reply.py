"""What a model wrote as the user, read without guessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pytest_dialeval.models.json_reply import UnreadableReply, closed_object, one_object
from pytest_dialeval.records.model import ChatAnswer
from pytest_dialeval.records.text import clean

Reason = Literal[
    "unreadable",
    "refused",
    "cut",
    "empty",
    "long",
    "leaked",
    "role",
    "repeated",
    "language",
    "solved",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
SCHEMA: Mapping[str, object] = {
    "title": "line",
    **closed_object(
        {"say": {"type": "string"}, "done": {"type": "boolean"}, "note": {"type": "string"}}
    ),
}
_SHOWN = 80


class UnusableLine(Exception):
    """A reply that is not sent: it is asked for once more, with this text as the reason."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the user says, whether it wants nothing more, and why, for its own memory."""

    say: str
    done: bool = False
    note: str = ""


def read_user_reply(answer: ChatAnswer, heard: Sequence[str] = ()) -> UserReply:
    """The reply; a stop is its field `done`, never a word in the text.

    One that stands in `heard`, what the agent said, is not the model's own.
    """
    found = _object(answer, heard)
    say, done, note = found["say"], found.get("done"), found.get("note")
    if not isinstance(say, str):
        raise UnusableLine("unreadable", f"say {say!r:.{_SHOWN}} is no text")
    if not isinstance(done, bool | None):
        raise UnusableLine("unreadable", f"done {done!r:.{_SHOWN}} is neither true nor false")
    return UserReply(
        clean(say).strip(), done or False, clean(note) if isinstance(note, str) else ""
    )


def _object(answer: ChatAnswer, heard: Sequence[str]) -> Mapping[str, object]:
    if answer.refusal:
        raise UnusableLine(
            "refused", f"you refused to speak as the customer: {answer.refusal:.300}"
        )
    if answer.finish == "content_filter":
        raise UnusableLine("refused", "the endpoint filtered it")
    if answer.finish == "length":
        raise UnusableLine("cut", "it was cut off at its greatest length: be shorter")
    if not answer.text.strip():
        raise UnusableLine("empty", "it was empty")
    try:
        return one_object(answer.text, "say", heard)
    except UnreadableReply as problem:
        raise UnusableLine("unreadable", str(problem)) from None
