"""Secrets, replaced by value on their way to any file."""

from __future__ import annotations

import base64
import re
import reprlib
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import TypeVar, cast
from urllib.parse import quote

from pytest_dialeval.traces.json_bytes import from_json, to_json

T = TypeVar("T")
# `MAX_TOKENS` and `KEYBOARD` are none: the word stands at the end, on its own.
_NAME = re.compile(r"(?i)(?:^|_)(?:API_?)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|AUTHORIZATION)$")
# Shorter values (`EMPTY`, `none`, `1`) are placeholders; replacing them would spoil ordinary text.
_SHORTEST = 8
_CUT = "..."  # how messages are shortened
_DEEPEST = 150  # below what JSON is written to, so that nothing deeper passes unread
# As JSON inside of JSON writes it there are backslashes between.
_HEADER = re.compile(r"(?i)(authorization\W{1,20}(?:bearer|basic|token)\s+)[\w.~+/=-]{8,}")
_CREDENTIALS = re.compile(
    r"(?i)^(\s*(?:bearer|basic|token)\s+)[\w.~+/=-]{8,}"
)  # such a header's value
_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token)\s+")
_HIDDEN_HEADER = "[redacted Authorization]"


def names_a_secret(name: str) -> bool:
    """Whether a variable of that name holds a key, a token or a password."""
    return bool(_NAME.search(name))


class Redaction:
    """Replaces known secrets by `[redacted NAME]`, plain, URL-quoted or in base64."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets`: name -> value; values of fewer than 8 characters are left alone."""
        self._names: dict[str, str] = {}
        for name, value in sorted(secrets.items()):
            for form in _forms(value):
                self._names.setdefault(form, name)
        # A secret may begin like another one: the longest is tried first.
        forms = sorted(self._names, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, forms))) if forms else None
        self._written = frozenset(_escaped(each)[:_SHORTEST] for each in forms)

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str], names: Collection[str] = ()
    ) -> Redaction:
        """Values of `*_API_KEY`, `*_TOKEN`, `*_SECRET` and their like, and of `names`."""
        return cls(
            {
                name: value
                for name, value in environment.items()
                if name in names or names_a_secret(name)
            }
        )

    def text(self, text: str) -> str:
        """The text without secrets."""
        if any(map(text.__contains__, self._names)):
            assert self._any is not None
            text = self._any.sub(self._hidden, text)
        if _CUT in text:
            text = self._without_halves(text)
        if _speaks_of_authorization(text):
            text = _HEADER.sub(rf"\1{_HIDDEN_HEADER}", text)
        return text

    def _without_halves(self, text: str) -> str:
        """Where a message was cut in a secret, its beginning stands before the dots."""
        begun = {each: name for each, name in self._names.items() if each[:_SHORTEST] in text}
        end = text.find(_CUT) if begun else -1
        while end >= 0:
            for form, name in begun.items():
                start = text.rfind(form[:_SHORTEST], max(0, end - len(form)), end)
                if start >= 0 and form.startswith(text[start:end]):
                    hidden = f"[redacted {name}]"
                    text = text[:start] + hidden + text[end:]
                    end = start + len(hidden)
                    break
            end = text.find(_CUT, end + len(_CUT))
        return text

    def line(self, value: object) -> bytes:
        """A line of JSON without secrets: most hold none, which the whole text shows soonest."""
        line = to_json(value)
        if self._may_hold(line.decode()):
            line = to_json(self.value(value))
        return line + b"\n"

    def _may_hold(self, written: str) -> bool:
        """Whether JSON text may hold what text() would replace in one of its strings.

        Escapes stand between and within words there, so beginnings are enough to look closer.
        """
        if _speaks_of_authorization(written):
            return True
        return any(map(written.__contains__, self._written))

    def value(self, value: object, depth: int = 0) -> object:
        """JSON-like data without secrets, at any depth, in keys too."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if depth > _DEEPEST:
            return self.text(reprlib.repr(value))
        if isinstance(value, Mapping):
            return {
                self._key(key): self.value(_unauthorized(key, each), depth + 1)
                for key, each in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(each, depth + 1) for each in value]
        return self.value(from_json(to_json(value)), depth + 1)  # as it would be written

    def record(self, value: T) -> T:
        """A frozen record, or what holds records, without secrets; itself where it holds none."""
        written = to_json(value).decode()  # quicker than to look into each field
        return cast(T, self._record(value)) if self._may_hold(written) else value

    def _record(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            given = ((each.name, getattr(value, each.name)) for each in fields(value))
            clear = {name: self._record(each) for name, each in given}
            changed = {n: each for n, each in clear.items() if each is not getattr(value, n)}
            return replace(value, **changed) if changed else value
        if isinstance(value, Mapping):
            mapped = {
                self._key(key): self._record(_unauthorized(key, each))
                for key, each in value.items()
            }
            return value if mapped == value else mapped
        if isinstance(value, list | tuple):
            listed = [self._record(each) for each in value]
            return value if all(map(is_, listed, value)) else type(value)(listed)
        return value

    def _key(self, key: object) -> object:
        plain = key is None or isinstance(key, bool | int | float)
        return key if plain else self.text(str(key))

    def _hidden(self, found: re.Match[str]) -> str:
        return f"[redacted {self._names[found[0]]}]"


def _forms(value: str) -> list[str]:
    """How a secret may be written; a header's value also without its scheme."""
    plain = _SCHEME.sub("", value.strip())
    if len(plain) < _SHORTEST:
        return []
    encoded = base64.b64encode(plain.encode("utf-8", "surrogateescape")).decode().rstrip("=")
    in_json = _escaped(plain)  # where a body or a record is searched as it is written
    return [plain, quote(plain, safe="", errors="surrogateescape"), encoded, in_json]


def _speaks_of_authorization(text: str) -> bool:
    return "uthorization" in text or "UTHORIZATION" in text


def _unauthorized(key: object, value: object) -> object:
    """The value of a header `Authorization` without what gives access; any other as it is."""
    if isinstance(key, str) and isinstance(value, str) and key.lower().endswith("authorization"):
        return _CREDENTIALS.sub(rf"\1{_HIDDEN_HEADER}", value)
    return value


def _escaped(text: str) -> str:
    return to_json(text).decode()[1:-1]
