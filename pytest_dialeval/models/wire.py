"""OpenAI's chat protocol: a call -> a request's body, a response -> a ChatAnswer. Pure.

Endpoints say they speak it and differ; what can be read rightly is read, the rest is Unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from pytest_dialeval.models.endpoints import Features
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelToolCall
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Usage

_EXCERPT = 200
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unreadable(Exception):
    """A response that is no answer: broken, cut off, another protocol, or an error in a 200."""

    def __init__(self, reason: str, *, status: int | None = None, code: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


def request_fields(call: ChatCall, features: Features) -> dict[str, Any]:
    """The fields of the request; what nobody asked for is left to the endpoint."""
    spec = call.spec
    fields: dict[str, Any] = {"model": spec.model, "messages": call.messages}
    if spec.temperature is not None and features.temperature:
        fields["temperature"] = spec.temperature
    if spec.seed is not None and features.seed:
        fields["seed"] = spec.seed
    if spec.max_tokens is not None:
        fields[features.max_tokens] = spec.max_tokens
    if call.tools:
        fields["tools"] = call.tools
    if call.schema is not None and features.schema:
        fields["response_format"] = _response_format(call.schema, features)
    # The time to the first token is the agent's alone to have; a stream costs twice the CPU.
    if features.stream and spec.role == "agent":
        fields["stream"] = True
        if features.stream_usage:
            fields["stream_options"] = {"include_usage": True}
    return fields


def request_body(call: ChatCall, features: Features) -> bytes:
    """The request as bytes."""
    fields = request_fields(call, features)
    try:
        return orjson.dumps(fields)
    except (TypeError, orjson.JSONEncodeError):  # mapping proxies; lone surrogates; huge integers
        return json.dumps(fields, default=_plain).encode("ascii")


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _response_format(schema: Mapping[str, object], features: Features) -> dict[str, object]:
    if features.schema == "json_object":
        return {"type": "json_object"}
    named = {"name": str(schema.get("title") or "reply"), "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": named}


def parse(data: bytes | str) -> Any:
    """JSON, also with the lone surrogates and NaN that some endpoints send; ValueError if none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def read_whole(data: bytes) -> ChatAnswer:
    """The answer of a response that was not streamed."""
    try:
        body = parse(data)
    except ValueError:
        raise Unreadable(no_json(data)) from None
    return answer_of(body)


def answer_of(body: object) -> ChatAnswer:
    """The answer in a `chat.completion` object."""
    if not isinstance(body, dict):
        raise Unreadable(f"not a chat completion but {shortened(str(body))!r}")
    reader = StreamReader()
    reader.check_error(body)
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise Unreadable(f"no choices in the answer; it has {', '.join(map(str, body))[:80]}")
    choice = choices[0] if choices and isinstance(choices[0], dict) else None
    message = choice.get("message") if choice else None
    if not choices:
        raise Unreadable("choices is empty in the answer")
    if choice is None or not isinstance(message, dict):
        raise Unreadable("the answer's first choice has no message")
    reader.add({**body, "choices": [{**choice, "delta": message}]})
    reader.finish = reader.finish or "stop"
    return reader.answer()


class StreamReader:
    """Puts an answer together from the chunks of a stream."""

    def __init__(self) -> None:
        self.started = False  # text or a tool call has come
        self.finish: str | None = None
        self.done = False  # [DONE] has come
        self._model = ""
        self._usage: Mapping[str, Any] | None = None
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[dict[str, str]] = []
        self._places: dict[object, int] = {}

    def add(self, chunk: object) -> None:
        """One chunk, parsed."""
        if not isinstance(chunk, dict):
            return
        if "error" in chunk:
            self.check_error(chunk)
        if (model := chunk.get("model")) and isinstance(model, str):
            self._model = model
        if isinstance(usage := chunk.get("usage"), dict):
            # Some endpoints repeat it, growing, in each chunk: the last one holds, none is added.
            self._usage = usage
        if (choices := chunk.get("choices")) and isinstance(choices, list):
            if isinstance(choices[0], dict):
                self._choice(choices[0])

    def check_error(self, body: Mapping[str, Any]) -> None:
        """Raise the error that a body with status 200 holds instead of an answer."""
        error = body.get("error")
        if error:
            status, code, text = error_of(body)
            raise Unreadable(f"an error instead of an answer: {text}", status=status, code=code)

    def answer(self, first_token: float | None = None) -> ChatAnswer:
        """The whole answer; Unreadable where the stream ended before it."""
        if self.finish is None and not (self.done and self.started):
            what = "the stream ended before the answer did" if self.started else "no answer came"
            raise Unreadable(what)
        return ChatAnswer(
            text=_joined(self._text),
            tool_calls=tuple(ModelToolCall(**each) for each in self._calls),
            finish=self.finish or "stop",
            refusal=_joined(self._refusal) or None,
            usage=usage_of(self._usage),
            model=clean(self._model),
            first_token=first_token,
        )

    def _choice(self, choice: Mapping[str, Any]) -> None:
        if choice.get("index") not in (0, None):
            return
        if isinstance(finish := choice.get("finish_reason"), str):
            self.finish = clean(finish) or self.finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        content = delta.get("content")
        if text := content if isinstance(content, str) else _text_of(content):
            self._text.append(text)
        if len(delta) > ("content" in delta):  # which nearly always stands alone
            self._beside(delta)
        if not self.started:
            self.started = bool(self._text or self._calls or self._refusal)

    def _beside(self, delta: Mapping[str, Any]) -> None:
        if text := _text_of(delta.get("refusal")):
            self._refusal.append(text)
        calls = delta.get("tool_calls")
        for each in calls if isinstance(calls, list) else ():
            self._call(each)
        if isinstance(delta.get("function_call"), dict):
            self._call({"index": "function_call", "function": delta["function_call"]})

    def _call(self, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
        call = self._calls[self._place(delta)]
        for key, value in (("id", delta.get("id")), ("name", function.get("name"))):
            if isinstance(value, str) and not call[key]:
                call[key] = clean(value)
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call["arguments"] += arguments
        elif arguments is not None:  # ollama's are objects
            call["arguments"] += json.dumps(arguments, ensure_ascii=False)

    def _place(self, delta: Mapping[str, Any]) -> int:
        """Which call a piece belongs to: by index; a new id under a known index is a new call."""
        identity, index = delta.get("id"), delta.get("index")
        known = self._places.get(index) if isinstance(index, int | str) else None
        if known is None and index is None and not identity and self._calls:
            return len(self._calls) - 1
        same = known is not None and identity in (None, "", self._calls[known]["id"])
        if known is not None and (same or not self._calls[known]["id"]):
            return known
        self._calls.append({"id": "", "name": "", "arguments": ""})
        if isinstance(index, int | str):
            self._places[index] = len(self._calls) - 1
        return len(self._calls) - 1


def _text_of(content: object) -> str:
    """Content is text, null, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [each.get("text") for each in content if isinstance(each, dict)]
        return "".join(each for each in parts if isinstance(each, str))
    return ""


def _joined(pieces: list[str]) -> str:
    text = "".join(pieces)
    if _SURROGATE.search(text):
        # Halves of one character came in two chunks.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return clean(text)


def usage_of(usage: Mapping[str, Any] | None) -> Usage:
    """Tokens as the endpoint counts them; what it does not say is None."""
    if not usage:
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")  # deepseek
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        cached_tokens=_count(cached),
        output_tokens=_count(usage.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 1e12 else None


def error_of(body: object) -> tuple[int | None, str, str]:
    """Status, code and text of an error in whatever shape."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return None, "", shortened(str(error))
    code = error.get("code")
    status = next((each for each in (code, error.get("status")) if _is_status(each)), None)
    text = error.get("message") or error.get("detail") or error.get("type") or str(error)
    word = code if isinstance(code, str) else error.get("type")
    return _status(status), word if isinstance(word, str) else "", shortened(str(text))


def _is_status(value: object) -> bool:
    return str(value).isdecimal() and 400 <= int(str(value)) < 600


def _status(value: object) -> int | None:
    return None if value is None else int(str(value))


def shortened(text: str) -> str:
    """One clean line of it, for a message."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}..."


def no_json(data: bytes) -> str:
    """What stands in a body that is no JSON, for a message."""
    text = shortened(data[:2000].decode("utf-8", "replace"))
    if not text:
        return "the answer is empty"
    if text.lstrip("\ufeff").lower().startswith(("<!doctype", "<html", "<?xml", "<head", "<body")):
        return f"HTML instead of JSON: {text!r}"
    return f"the answer is not JSON: {text!r}"
