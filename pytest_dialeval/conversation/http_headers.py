"""An http agent's headers: written with names of variables, sent with their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.suites.addresses import VARIABLE
from pytest_dialeval.traces.redaction import Redaction


@dataclass(frozen=True, slots=True)
class Headers:
    """What is sent, and what must not be told of it; neither is ever shown."""

    sent: Mapping[str, str]
    redaction: Redaction

    def __repr__(self) -> str:
        return f"Headers({', '.join(self.sent)})"


def headers_of(written: Mapping[str, str], environment: Mapping[str, str]) -> Headers:
    """The headers with their values; HarnessFault names a variable that is not set."""
    secrets = {
        variable: _value(name, variable, environment)
        for name, text in written.items()
        for variable in VARIABLE.findall(text)
    }
    sent = {
        name: VARIABLE.sub(lambda found: secrets[found[1]], text) for name, text in written.items()
    }
    return Headers(sent, Redaction(secrets))


def variables_of(written: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the variables whose values must not be told."""
    return tuple(each for text in written.values() for each in VARIABLE.findall(text))


def _value(header: str, variable: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "").strip()
    if not value:
        raise HarnessFault(f"header {header} needs the variable {variable}, which is not set")
    if not all("\x20" <= each <= "~" for each in value):
        raise HarnessFault(f"header {header}: {variable} holds characters that no header may have")
    return value
