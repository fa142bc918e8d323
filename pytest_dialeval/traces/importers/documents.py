"""The JSON values of a file: one, one a line, or one behind the other."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.traces.file_text import file_text
from pytest_dialeval.traces.importers.likeness import likely_formats
from pytest_dialeval.traces.json_bytes import unknown

# The standard library and not orjson: it reads NaN, lone surrogates and integers beyond 64 bits,
# and is as fast on these files.
_DECODER = json.JSONDecoder(parse_constant=unknown)
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value and the line on which it begins."""

    value: Any
    line: int


def read_documents(data: bytes, path: Path, *, form: str) -> list[Document]:
    """All values of the file; a file that looks like another format is refused by name."""
    documents = decode_documents(file_text(data, path), path)
    refuse_other_formats(documents, path, form=form)
    return documents


def refuse_other_formats(documents: list[Document], path: Path, *, form: str) -> None:
    """Refuse a file whose first value bears the marks of other formats alone."""
    likely = likely_formats(documents[0].value)
    if likely and form not in likely:
        raise TranscriptError(
            f"{path}: is not {form!r}; it looks like {' or '.join(map(repr, likely))}: "
            "read it with that format"
        )


def records(documents: list[Document], path: Path, word: str) -> list[tuple[str, Any]]:
    """The elements of a JSON list, or the lines of a JSONL file, each with its place."""
    if len(documents) > 1 or not isinstance(documents[0].value, list):
        refuse_concatenated(documents, path)
        return [(f"{path}:{each.line}", each.value) for each in documents]
    if not documents[0].value:
        raise TranscriptError(f"{path}: is an empty list; it holds no conversation")
    return [(f"{path}: {word} {place}", each) for place, each in enumerate(documents[0].value)]


def refuse_concatenated(documents: list[Document], path: Path, *, single: bool = False) -> None:
    """Refuse whole lists (or, where the file is to be one value, any second value)."""
    for each in documents[1:]:
        if single or isinstance(each.value, list) or isinstance(documents[0].value, list):
            raise TranscriptError(
                f"{path}:{each.line}: a second JSON document begins here; "
                "put each document in a file of its own"
            )


def decode_documents(text: str, path: Path) -> list[Document]:
    """All JSON values of a text that is not empty."""
    documents: list[Document] = []
    place, line, counted = _skip(text, 0), 1, 0
    while place < len(text):
        line, counted = line + text.count("\n", counted, place), place
        try:
            value, end = _DECODER.raw_decode(text, place)
        except json.JSONDecodeError as exc:
            raise TranscriptError(_broken(text, path, exc, len(documents))) from None
        except (RecursionError, ValueError) as exc:
            raise TranscriptError(f"{path}:{line}: is not readable JSON: {_why(exc)}") from None
        documents.append(Document(value, line))
        place = _skip(text, end)
    return documents


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _why(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _broken(text: str, path: Path, error: json.JSONDecodeError, whole: int) -> str:
    last = text.count("\n", 0, len(text.rstrip())) + 1
    if error.msg.startswith("Unterminated string") or not text[error.pos :].strip():
        before = f" ({whole} whole documents stand before it)" if whole else ""
        return (
            f"{path}:{last}: the file is cut off in the middle of its JSON{before}; "
            "get the whole file, or remove what is torn"
        )
    return f"{path}:{error.lineno}: is not JSON at column {error.colno}: {error.msg}"
