"""Replies from a cassette, or from a model and then into the cassette."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, cast, get_args

from pytest_dialeval.errors import CassetteMiss, HarnessFault
from pytest_dialeval.models.cassette import (
    Cassette,
    Entry,
    Request,
    Trial,
    request_of,
    without_nonce,
)
from pytest_dialeval.models.cassette_lines import decode_answer, encode_answer
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.choices import instead
from pytest_dialeval.models.near_miss import miss_message
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.traces.redaction import Redaction

Mode = Literal["none", "new", "all", "off"]
MODES: tuple[Mode, ...] = get_args(Mode)
_HABITS: dict[str, Mode] = {"once": "new", "new_episodes": "new"}  # of other tools


def read_mode(text: str) -> Mode:
    """The mode of `--dialeval-record`; ValueError says what is allowed."""
    for mode in MODES:
        if text == mode:
            return mode
    if text in _HABITS:
        return _HABITS[text]
    raise ValueError(f"{text!r} is no way to record{instead(text, [*MODES, *_HABITS], MODES)}")


def default_mode(cassette: Path) -> Mode:
    """Where nothing was said: replay only if the suite has a cassette, else neither."""
    return "none" if cassette.exists() else "off"


class Replays(Protocol):
    """Is told of each reply that cost nothing."""

    def replayed(self, call: ChatCall, answer: ChatAnswer) -> None: ...


class Recorder:
    """One suite's cassette in front of the models, as `mode` says.

    none: replay only. new: replay, and record what is missing. all: record everything anew.
    off: neither. Only replies are recorded: a call that failed is asked again the next time.
    """

    def __init__(
        self,
        inner: Chat | None,
        cassette: Cassette,
        mode: Mode,
        *,
        name: str,
        redaction: Redaction,
        tape: Tape | None = None,
        sink: Replays | None = None,
    ) -> None:
        """`inner` may be None for replay only; `tape` is needed where something is recorded."""
        self.mode = mode
        self._inner = inner
        self._cassette = cassette
        self._name = name
        self._redaction = redaction
        self._tape = tape
        self._sink = sink
        self._own: dict[str, Entry] = {}  # of this run
        self._used: set[str] = set()
        self._void = set(cassette.again)  # trials that are not replayed from before this run
        self._restarting = set(cassette.again)  # of those, the ones not yet begun anew

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        """The recorded reply, or the model's; CassetteMiss where there may be none of a model."""
        if self.mode == "off":
            return await self._live().chat(call, deadline=deadline)
        request = request_of(call, self._redaction)
        key = request.key
        if (found := self._find(request.of_trial, key)) is not None:
            return self._replay(call, found)
        if self.mode == "none":
            raise CassetteMiss(miss_message(request, self._cassette.entries.values(), self._name))
        answer = await self._live().chat(call, deadline=deadline)
        return self._record(request, key, answer, call.nonce)

    def forget(self, case: str, trial: int) -> None:
        """The trial ended unmeasured by its replies: they stay on record, `new` asks again.

        Not for failed or missing calls, which were never recorded.
        """
        if self.mode in ("none", "off"):
            return
        for key in [
            key for key, each in self._own.items() if each.request.of_trial == (case, trial)
        ]:
            del self._own[key]
        self._void.add((case, trial))
        self._restarting.add((case, trial))
        self._taping().again((case, trial))

    def _find(self, trial: Trial, key: str) -> Entry | None:
        if self.mode == "none":
            return self._cassette.entries.get(key)
        if self.mode == "all":
            return None
        return self._own.get(key) or (
            None if trial in self._void else self._cassette.entries.get(key)
        )

    def _replay(self, call: ChatCall, found: Entry) -> ChatAnswer:
        if self._tape is not None and found.key not in self._used:
            self._used.add(found.key)
            self._tape.used(found.key)
        if self._sink is not None:
            self._sink.replayed(call, found.answer)
        return found.answer

    def _record(self, request: Request, key: str, answer: ChatAnswer, nonce: str) -> ChatAnswer:
        """What the run gets is what will be replayed, to the letter.

        Without secrets and nonce: where the answer is quoted in a later call, both would be
        part of that one's key.
        """
        if self.mode == "new" and key in self._own:
            return self._own[key].answer
        told = without_nonce(self._redaction.value(encode_answer(answer)), nonce)
        entry = Entry(key, request, decode_answer(cast("dict[str, object]", told)))
        if request.of_trial in self._restarting:
            self._restarting.discard(request.of_trial)
            self._taping().restart(request.of_trial)
        self._taping().record(entry)
        self._own[key] = entry
        return entry.answer

    def _live(self) -> Chat:
        if self._inner is None:
            raise HarnessFault("no model is connected, and the recording is not to be replayed")
        return self._inner

    def _taping(self) -> Tape:
        if self._tape is None:
            raise HarnessFault("there is no file to record to")
        return self._tape
