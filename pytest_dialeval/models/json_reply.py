"""A reply that is to be one JSON object: asked for by schema, read without guessing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

LONGEST = 200_000  # characters of a reply
_TAG = "(?:think|thinking|thought|reasoning|reflection)"
_BEGIN = re.compile(f"<{_TAG}>", re.IGNORECASE)
_END = re.compile(f"</{_TAG}>", re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_SPACE = re.compile(r"\s+")
_Found: TypeAlias = tuple[str, Mapping[str, object]]  # what was written, what it says


class UnreadableReply(ValueError):
    """No one object can be read; its text tells the model why."""


class _Twice(ValueError):
    """A key stands twice in one object."""


def closed_object(properties: Mapping[str, object]) -> dict[str, object]:
    """The schema of an object with these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def one_object(text: str, key: str, said: Sequence[str] = ()) -> Mapping[str, object]:
    """The one JSON object with that key, by the strictest reading that has any.

    What stands in `said`, texts of others that the model was shown, is not its own reply.
    """
    if len(text) > LONGEST:
        raise UnreadableReply(f"the reply has {len(text)} characters: be shorter")
    found = list(_whole(text, key)) or list(_among_words(text, key))
    if not found:
        raise UnreadableReply(f"the reply is no JSON object with the key {key!r}")
    (_, first), *others = found
    if any(each != first for _, each in others):
        raise UnreadableReply(f"the reply has {len(found)} JSON objects with the key {key!r}")
    objects = [each for each in said if "{" in each]
    if any(_stands(source, each) for source, _ in found for each in objects):
        raise UnreadableReply("the reply stands word for word in the transcript")
    return first


def _whole(text: str, key: str) -> Iterator[_Found]:
    """A text that is JSON and no more, but for thinking before it and a fence round it.

    What a transcript says can then only stand inside a string. It may be quoted in the thinking
    too, with an end tag of its own, or the JSON may quote one: the first and the last are tried.
    """
    ends = [0, *(each.end() for each in _END.finditer(text))]
    for end in dict.fromkeys((0, *ends[1:2], ends[-1])):
        rest = text[end:].strip()
        fence = _FENCE.fullmatch(rest)
        source = fence[1] if fence else rest
        with suppress(ValueError, RecursionError):
            found = _DECODER.decode(source)
            if isinstance(found, dict) and key in found:
                yield source, found
                return


def _among_words(text: str, key: str) -> Iterator[_Found]:
    """Objects between other words.

    Where one brace begins no JSON none is believed: what follows it may be a quote inside it.
    """
    *_, start = 0, *(each.end() for each in _END.finditer(text))
    if _BEGIN.search(text, start):
        raise UnreadableReply("the thinking has no end")
    while (start := text.find("{", start)) >= 0:
        try:
            found, end = _DECODER.raw_decode(text, start)
        except _Twice as problem:
            raise UnreadableReply(str(problem)) from None
        except (ValueError, RecursionError):
            raise UnreadableReply("the reply is no JSON object") from None
        if isinstance(found, dict) and key in found:
            yield text[start:end], found
        start = end


def _stands(source: str, text: str) -> bool:
    return _SPACE.sub("", source) in _SPACE.sub("", text)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice("a key stands twice in one JSON object")
    return found


# Not strict: models break lines within strings.
_DECODER = json.JSONDecoder(object_pairs_hook=_once, strict=False)
