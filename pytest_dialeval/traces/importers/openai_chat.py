"""Format `openai`: chat messages as the Chat Completions API takes them, as JSON or JSONL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Recording, Transcript
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.importers.chat import Chat
from pytest_dialeval.traces.importers.documents import Document, read_documents, records
from pytest_dialeval.traces.importers.numbering import (
    refuse_duplicates,
    task_id,
    task_ids,
    trial_number,
)
from pytest_dialeval.traces.importers.recorded_values import scalars
from pytest_dialeval.traces.importers.source import RecordingFile, Source
from pytest_dialeval.traces.place import located

_NUMBERING = ("task_id", "trial", "agent", "messages", "metadata")


def read_openai(data: bytes, path: Path) -> RecordingFile:
    """Each list of messages is a conversation; `task_id` and `trial` may stand beside it."""
    documents = read_documents(data, path, form="openai")
    conversations = _conversations(documents, path)
    source = Source.of(data, path)
    names = _names([each for _, each in conversations], path)
    recordings: list[Recording] = []
    for index, (place, each) in enumerate(conversations):
        with located(place):
            recordings.append(_recording(source, index, names[index], each))
    refuse_duplicates(recordings, lambda each: conversations[each.index][0])
    return RecordingFile(tuple(recordings))


def _conversations(documents: list[Document], path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Every conversation as an object with `messages`, with its place."""
    values = [each.value for each in documents]
    if len(values) == 1 and isinstance(values[0], list) and _are_messages(values[0]):
        return [(str(path), {"messages": values[0]})]
    if _are_messages(values):
        return [(str(path), {"messages": values})]
    if all(isinstance(each, list) for each in values) and len(values) > 1:
        return [(f"{path}:{each.line}", {"messages": each.value}) for each in documents]
    items = records(documents, path, "conversation")
    for place, each in items:
        if not _is_conversation(each):
            raise TranscriptError(
                f"{place}: is {shown(each)}; a conversation is a list of messages, "
                "or an object with 'messages'"
            )
    return [(place, _object(each)) for place, each in items]


def _are_messages(values: list[Any]) -> bool:
    """Whether these are the messages of one conversation and not conversations."""
    return bool(values) and isinstance(values[0], dict) and "messages" not in values[0]


def _is_conversation(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and "messages" in value)


def _object(value: Any) -> dict[str, Any]:
    """A conversation with its metadata spread beside its messages; what stands there wins."""
    if isinstance(value, list):
        return {"messages": value}
    metadata = value.get("metadata")
    return {**metadata, **value} if isinstance(metadata, dict) else value


def _names(conversations: list[dict[str, Any]], path: Path) -> list[str]:
    """Task ids; where the file has none at all, each conversation is a case of its own."""
    if any(task_id(each.get("task_id")) for each in conversations):
        return task_ids(conversations, path, "conversation")
    if len(conversations) == 1:
        return [path.stem]
    return [f"{path.stem}-{number}" for number in range(1, len(conversations) + 1)]


def _recording(source: Source, index: int, name: str, conversation: dict[str, Any]) -> Recording:
    if not conversation["messages"]:
        raise TranscriptError("has no messages; remove it, or give what was said")
    chat = Chat(strict=True)
    chat.read(conversation["messages"])
    agent = conversation.get("agent") or conversation.get("model")
    return source.recording(
        index,
        name,
        Transcript(turns=chat.turns(), recorded=scalars(conversation, leave=_NUMBERING)),
        trial=trial_number(conversation.get("trial")),
        agent=clean(agent) if isinstance(agent, str) else None,
    )
