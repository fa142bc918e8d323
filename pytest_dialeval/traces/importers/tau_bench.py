"""Format `tau-bench`: results of tau-bench 1 (a list, or JSONL), and its few-shot dialogues."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Recording, Transcript
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.importers.chat import Chat
from pytest_dialeval.traces.importers.documents import read_documents, records
from pytest_dialeval.traces.importers.numbering import refuse_duplicates, task_ids, trial_number
from pytest_dialeval.traces.importers.recorded_values import known_costs, scalars
from pytest_dialeval.traces.importers.source import RecordingFile, Source
from pytest_dialeval.traces.place import located

_LAST_TOOL = "transfer_to_human_agents"  # calling it ends a tau-bench conversation
_SPEECH = re.compile(r"^(user|assistant|tool|system): ?", re.MULTILINE)
_DISPLAY = "messages_display"


def read_tau_bench(data: bytes, path: Path) -> RecordingFile:
    """Each record is a trial of its task; a few-shot dialogue is a case of its own."""
    items = records(read_documents(data, path, form="tau-bench"), path, "record")
    for place, each in items:
        if not isinstance(each, dict) or ("traj" not in each and _DISPLAY not in each):
            raise TranscriptError(f"{place}: is {shown(each)}; it needs 'traj' (its messages)")
    source = Source.of(data, path)
    if any(_DISPLAY in each for _, each in items):
        return RecordingFile(tuple(_displays(source, items)))
    names = task_ids([each for _, each in items], path, "record")
    recordings: list[Recording] = []
    for index, (place, each) in enumerate(items):
        with located(f"{place} (task {names[index]!r})"):
            recordings.append(_recording(source, index, names[index], each))
    refuse_duplicates(recordings, lambda each: items[each.index][0])
    return RecordingFile(tuple(recordings))


def _recording(source: Source, index: int, name: str, record: dict[str, Any]) -> Recording:
    chat = Chat(stop_tokens=True)
    chat.read(record["traj"])
    transcript = _transcript(chat, record)
    return source.recording(index, name, transcript, trial=trial_number(record.get("trial")))


def _transcript(chat: Chat, record: dict[str, Any]) -> Transcript:
    recorded = _recorded(record)
    turns = chat.turns()
    if not turns:
        info = record.get("info")
        error = info.get("error") if isinstance(info, dict) else None
        reason = f"the benchmark recorded an error: {clean(str(error or 'it has no messages'))}"
        return Transcript(outcome="harness_error", reason=reason, recorded=recorded)
    if chat.stopped:
        recorded["stop_token"] = chat.stopped
    if chat.stopped and chat.last_role == "user":
        return Transcript(turns=turns, ended_by="user", recorded=recorded)
    if chat.last_role == "tool" and chat.last_call() == _LAST_TOOL:
        return Transcript(turns=turns, ended_by="agent", recorded=recorded)
    reason = "it stops without a stop signal, as at the benchmark's limit of steps"
    return Transcript(
        turns=turns, outcome="limit_reached", reason=reason, ended_by="limit", recorded=recorded
    )


def _recorded(record: dict[str, Any]) -> dict[str, object]:
    """`reward`, and what its calculation rested on."""
    info = record.get("info")
    reward_info = info.get("reward_info") if isinstance(info, dict) else None
    basis = reward_info.get("info") if isinstance(reward_info, dict) else None
    return known_costs(
        {
            **scalars(basis, leave=("gt_data_hash",)),
            **scalars(info, leave=("error", "traceback")),
            **scalars(record, leave=("task_id", "trial")),
        }
    )


def _displays(source: Source, items: list[tuple[str, Any]]) -> list[Recording]:
    recordings = []
    for index, (place, each) in enumerate(items):
        text = each.get(_DISPLAY)
        if not isinstance(text, str):
            raise TranscriptError(f"{place}: {_DISPLAY!r} is {shown(text)}; it must be text")
        name = f"{source.path.stem}-{index + 1}"
        with located(place):
            recordings.append(source.recording(index, name, _display(text)))
    return recordings


def _display(text: str) -> Transcript:
    """A dialogue written as lines `user: ...`, `assistant: ...`, `tool: ...`."""
    marks = list(_SPEECH.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        raise TranscriptError("the dialogue does not begin with 'user: ' or 'assistant: '")
    chat = Chat(stop_tokens=True)
    ends = [each.start() for each in marks[1:]] + [len(text)]
    messages: list[dict[str, Any]] = []
    for mark, end in zip(marks, ends, strict=True):
        _add_speech(messages, mark[1], text[mark.end() : end].removesuffix("\n"))
    chat.read(messages)
    if chat.stopped is None:
        return Transcript(turns=chat.turns())
    recorded = {"stop_token": chat.stopped}
    return Transcript(turns=chat.turns(), ended_by="user", recorded=recorded)


def _add_speech(messages: list[dict[str, Any]], role: str, said: str) -> None:
    """One speech; the call that a result answers is not shown there and is called `tool`."""
    if role == "tool":
        caller = next((each for each in reversed(messages) if each["role"] == "assistant"), None)
        if caller is None:
            raise TranscriptError("a tool's result stands before anything that the agent said")
        caller.setdefault("tool_calls", []).append({"name": "tool"})
    content = None if (role, said) == ("assistant", "None") else said
    messages.append({"role": role, "content": content})
