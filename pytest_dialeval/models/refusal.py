"""What an endpoint's refusal means: a parameter that it does not take, or something to be done."""

from __future__ import annotations

import re

from pytest_dialeval.models.endpoints import Address, Features
from pytest_dialeval.models.transport import Failed
from pytest_dialeval.models.wire import request_fields
from pytest_dialeval.records.model import ChatCall

_OPTIONAL = ("stream_options", "response_format", "max_tokens", "temperature", "seed", "stream")
_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|too long|maximum context", re.I)


def refused_parameter(failure: Failed, call: ChatCall, sent: Features) -> str | None:
    """The parameter that a 400 is about, if the request can do without it."""
    if failure.status not in (400, 422) or _is_too_long(failure):
        return None
    text = str(failure)
    fields = request_fields(call, sent)
    for name in _OPTIONAL:
        other = name == "max_tokens" and "max_completion_tokens" not in text
        if name in fields and not other and re.search(rf"\b{name}\b", text):
            return name
    if "response_format" in fields and re.search(r"json[_ ]?(schema|object|mode)", text, re.I):
        return "response_format"
    return None


def remedy(failure: Failed, address: Address | None) -> str:
    """What the user can do about it, where that is known."""
    match failure.status:
        case 401 if address is not None:
            what = f"check the key in {address.key_env}"
            return f"; {what}" if address.key else f"; no key was sent: set {address.key_env}"
        case 403:
            return "; the key may not use this model or endpoint"
        case 404:
            return "; check the model's name and the base URL"
        case 400 | 413 | 422 if _is_too_long(failure):
            return "; the messages are longer than the model can read"
        case 402 | 429 if not failure.transient:
            return "; the account's credit is used up"
    return ""


def _is_too_long(failure: Failed) -> bool:
    return failure.code == "context_length_exceeded" or bool(_TOO_LONG.search(str(failure)))
