"""The content of a chat message: text, null, or a list of parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Artifact, Speaker
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.json_bytes import to_json, unknown

_TEXT_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
_INSTEAD = ("tool_calls", "function_call", "refusal", "audio")
_OTHER_PARTS = ("image_url", "input_image", "input_audio", "audio", "file", "input_file")


def read_content(message: dict[str, Any]) -> tuple[str, tuple[Artifact, ...]]:
    """The words of a message, and its pictures and sounds by name."""
    if message.get("is_audio"):
        raise TranscriptError("is audio, not text; give the recording with its transcript")
    content = message.get("content")
    artifacts: tuple[Artifact, ...] = ()
    if isinstance(content, list):
        text, artifacts = _parts(content)
    elif content is None or isinstance(content, str):
        text = content or ""
    else:
        raise TranscriptError(f"'content' is {shown(content)}; it must be text, null or parts")
    said = (text, words(message, "refusal"), "" if text else _spoken(message))
    return clean("\n".join(each for each in said if each)), artifacts


def refuse_contentless(message: dict[str, Any], speaker: Speaker) -> None:
    """Refuse a message without `content`, unless it has something in its place.

    `content: null` is an empty answer of a model, but nothing that a user could have sent.
    """
    absent = message.get("content") is None if speaker == "user" else "content" not in message
    if absent and not any(message.get(key) for key in _INSTEAD):
        keys = ", ".join(map(repr, message))
        found = "null for 'content'" if "content" in message else f"no 'content', only {keys}"
        raise TranscriptError(f"has {found}; give what was said")


def result_text(content: Any) -> str:
    """What a tool gave back, as text."""
    if isinstance(content, str):
        return clean(content)
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(each, dict) for each in content):
        if all(words(each, "type") in _TEXT_PARTS for each in content):
            return clean(_parts(content)[0])
    return clean(to_json(content).decode("utf-8"))


def arguments(given: Any) -> object:
    """Arguments of a call: JSON text is read; what is no JSON stays the raw text."""
    if not isinstance(given, str):
        return cast("object", given)
    if not given.strip():
        return None
    try:
        return cast("object", json.loads(given, parse_constant=unknown))
    except (ValueError, RecursionError):
        return given


def words(message: Mapping[str, Any], name: str) -> str:
    """A field that is text, or nothing."""
    value = message.get(name)
    return clean(value) if isinstance(value, str) else ""


def _spoken(message: dict[str, Any]) -> str:
    audio = message.get("audio")
    return words(audio, "transcript") if isinstance(audio, dict) else ""


def _parts(content: list[Any]) -> tuple[str, tuple[Artifact, ...]]:
    texts: list[str] = []
    artifacts: list[Artifact] = []
    for part in content:
        name = words(part, "type") if isinstance(part, dict) else ""
        if isinstance(part, str):
            texts.append(part)
        elif name in _TEXT_PARTS:
            texts.append(words(part, _TEXT_PARTS[name]))
        elif name in _OTHER_PARTS:
            artifacts.append(Artifact(name=name, text=_address(part.get(name)), media_type=name))
        else:
            known = ", ".join((*_TEXT_PARTS, *_OTHER_PARTS))
            raise TranscriptError(f"has a part of type {name!r}, which is not read; known: {known}")
    return "\n".join(each for each in texts if each), tuple(artifacts)


def _address(payload: Any) -> str:
    """Where a picture lies; what it holds is not text that anything could be said about."""
    url = payload.get("url") if isinstance(payload, dict) else payload
    return clean(url) if isinstance(url, str) and not url.startswith("data:") else ""
