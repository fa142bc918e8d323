"""What a cassette knows: calls as asked, each with the reply that a run consumed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from pytest_dialeval.models.steady import steady
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.traces.json_bytes import from_json, to_json
from pytest_dialeval.traces.redaction import Redaction

NONCE = "<nonce>"  # stands in a stored message where the call's own nonce stood
SETTINGS = ("endpoint", "model", "temperature", "seed", "max_tokens")
Trial = tuple[str, int]  # case and number


@dataclass(frozen=True, slots=True)
class Part:
    """A message, a list of tools or a schema, named by its digest."""

    name: str
    value: object


@dataclass(frozen=True, slots=True)
class Request:
    """A call as a cassette stores it: without secrets and nonce, in plain JSON values.

    `base_url` is no part of it: a suite must replay where OPENAI_BASE_URL differs or is not set.
    """

    case: str
    trial: int
    role: str
    purpose: str
    settings: Mapping[str, object]  # those of SETTINGS that are set
    messages: tuple[Part, ...]
    tools: Part | None = None
    schema: Part | None = None

    @property
    def of_trial(self) -> Trial:
        return self.case, self.trial

    @property
    def slot(self) -> tuple[object, ...]:
        """What it was for and whom it asked, whatever the words."""
        model = (self.settings.get("endpoint"), self.settings.get("model"))
        return (self.case, self.trial, self.role, self.purpose, *model)

    @property
    def order(self) -> tuple[object, ...]:
        """Where it stands in a file: trial after trial, each as it was talked."""
        return (self.case, self.trial, _natural(self.purpose), self.role)

    @property
    def key(self) -> str:
        """The digest of all of it."""
        said = [self.case, self.trial, self.role, self.purpose, dict(self.settings)]
        names = [each.name for each in self.messages]
        others = [each.name if each else None for each in (self.tools, self.schema)]
        return _digest([*said, names, *others], 16)


@dataclass(frozen=True, slots=True)
class Entry:
    """One call with its reply."""

    key: str
    request: Request
    answer: ChatAnswer


@dataclass(slots=True)
class Cassette:
    """Replies by key; `again` names trials that ended unmeasured, which `new` asks once more."""

    entries: dict[str, Entry] = field(default_factory=dict)
    again: set[Trial] = field(default_factory=set)


def request_of(call: ChatCall, redaction: Redaction) -> Request:
    """What is stored of a call, and decides its key."""
    spec = call.spec
    values = {name: getattr(spec, name) for name in SETTINGS}
    if spec.temperature is not None:
        values["temperature"] = float(spec.temperature)  # 0 and 0.0 are one setting
    plain = [list(call.messages), list(call.tools) or None, call.schema]
    messages, tools, schema = _plain(redaction.value(without_nonce(plain, call.nonce)))
    messages = [_mapped(each, steady) for each in messages]
    return Request(
        case=call.case,
        trial=call.trial,
        role=spec.role,
        purpose=call.purpose,
        settings={name: value for name, value in values.items() if value is not None},
        messages=tuple(map(part_of, messages)),
        tools=None if tools is None else part_of(tools),
        schema=None if schema is None else part_of(schema),
    )


def key(call: ChatCall, redaction: Redaction) -> str:
    """The same for the same question to the same model for the same purpose in the same trial."""
    return request_of(call, redaction).key


def part_of(value: object) -> Part:
    """The value with its name."""
    return Part(_digest(value, 8), value)


def without_nonce(value: object, nonce: str) -> object:
    """JSON-like data with NONCE where the nonce stood."""
    return _mapped(value, lambda text: text.replace(nonce, NONCE)) if nonce else value


def _mapped(value: object, change: Callable[[str], str]) -> object:
    """JSON-like data with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _mapped(each, change) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [_mapped(each, change) for each in value]
    return value


def _digest(value: object, size: int) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=size).hexdigest()


def _plain(value: object) -> tuple[list[object], object, object]:
    # As it will be read from the file: a key must not depend on tuples or numbers that JSON lacks.
    messages, tools, schema = from_json(to_json(value))
    return messages, tools, schema


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """Digits by their value: `turn 10` stands behind `turn 9`."""
    return tuple((int(each), "") if each.isdecimal() else (0, each) for each in _words(text))


def _words(text: str) -> list[str]:
    return re.findall(r"[0-9]{1,18}|[^0-9]+", text)
