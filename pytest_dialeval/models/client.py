"""A client object of the user's behind the door: an AsyncOpenAI, an Azure one, or a double."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_dialeval.errors import DialevalError, ProviderFault
from pytest_dialeval.models import wire
from pytest_dialeval.models.endpoints import PYTHON, Features
from pytest_dialeval.models.retry import may_pass, retry_after_of
from pytest_dialeval.models.transport import Failed, Transport
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec

_CONNECTION = frozenset({"APIConnectionError", "APITimeoutError"})


@dataclass(frozen=True, slots=True)
class ObjectChat:
    """What `python:file.py:object` is; `own` if a function made it for us."""

    name: str
    value: Any
    own: bool

    @classmethod
    def load(cls, spec: ModelSpec, load: Callable[[str], object] | None) -> ObjectChat:
        """The object, made by its function where it is one; ProviderFault where it can't be."""
        if load is None:
            raise ProviderFault(f"{spec.endpoint!r} cannot be loaded here", transient=False)
        value: Any = load(spec.endpoint.removeprefix(PYTHON))
        own = inspect.isfunction(value)
        found = cls(spec.endpoint, value() if own else value, own)
        if not (found.is_chat or found.is_client):
            text = "is no AsyncOpenAI, nor an object with `async def chat(call, *, deadline)`"
            raise ProviderFault(f"{spec.endpoint!r} {text}, but {value!r:.60}", transient=False)
        return found

    @property
    def is_chat(self) -> bool:
        """Whether it answers calls itself, without our limits and retries."""
        return inspect.iscoroutinefunction(getattr(self.value, "chat", None))

    @property
    def is_client(self) -> bool:
        """Whether it has the methods of an AsyncOpenAI."""
        completions = getattr(getattr(self.value, "chat", None), "completions", None)
        return callable(getattr(completions, "create", None))

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        """Its own answer."""
        try:
            answer = await self.value.chat(call, deadline=deadline)
        except DialevalError:
            raise
        except Exception as error:
            text = f"{self.name}: {type(error).__name__}: {wire.shortened(str(error))}"
            raise ProviderFault(text, transient=False) from error
        if not isinstance(answer, ChatAnswer):
            text = f"{self.name} must give a ChatAnswer, not {type(answer).__name__}"
            raise ProviderFault(text, transient=False)
        return answer


def transport_of(found: ObjectChat, spec: ModelSpec) -> Transport:
    """What sends calls through a client; ProviderFault where it can't."""
    openai = sys.modules.get("openai")
    if openai is not None and isinstance(found.value, openai.OpenAI):
        text = f"{spec.endpoint!r} is a client that blocks; give an AsyncOpenAI or AsyncAzureOpenAI"
        raise ProviderFault(text, transient=False)
    if not spec.model:
        text = f"{spec.endpoint!r} needs a model's name: {spec.endpoint}:NAME"
        raise ProviderFault(text, transient=False)
    return ClientTransport(found)


class ClientTransport:
    """Tries through a client; it has retries of its own, which are switched off."""

    def __init__(self, found: ObjectChat) -> None:
        client = found.value
        self._found = found
        options = getattr(client, "with_options", None)
        self._client = options(max_retries=0) if callable(options) else client

    async def send(self, call: ChatCall, features: Features) -> ChatAnswer:
        """The answer; Failed or Unreadable where there is none."""
        fields = wire.request_fields(call, features)
        fields["messages"] = [dict(each) for each in call.messages]
        if call.tools:
            fields["tools"] = [dict(each) for each in call.tools]
        began = asyncio.get_running_loop().time()
        try:
            response = await self._client.chat.completions.create(**fields)
            if not features.stream:
                return wire.answer_of(_plain(response))
            return await _streamed(response, began)
        except (wire.Unreadable, DialevalError):
            raise
        except Exception as error:
            raise _failure(error) from error

    async def close(self) -> None:
        """Close a client that a function made for us; another one is the user's."""
        close = getattr(self._found.value, "close", None)
        if self._found.own and inspect.iscoroutinefunction(close):
            await close()


async def _streamed(chunks: AsyncIterator[object], began: float) -> ChatAnswer:
    loop = asyncio.get_running_loop()
    reader = wire.StreamReader()
    first: float | None = None
    async for chunk in chunks:
        reader.add(_plain(chunk))
        if first is None and reader.started:
            first = loop.time() - began
    return replace(reader.answer(), first_token=first)


def _plain(value: Any) -> object:
    dump = getattr(value, "model_dump", None)
    return dump(warnings=False) if callable(dump) else value


def _failure(error: Exception) -> Failed:
    """An exception of the openai package, told by its attributes so that it need not be there."""
    status = getattr(error, "status_code", None)
    text = wire.shortened(str(error)) or type(error).__name__
    if not isinstance(status, int):
        names = {each.__name__ for each in type(error).__mro__}
        lost = bool(names & _CONNECTION) or isinstance(error, OSError)
        return Failed(f"{type(error).__name__}: {text}", transient=lost)
    _, code, words = wire.error_of(getattr(error, "body", None) or text)
    headers = getattr(getattr(error, "response", None), "headers", {})
    return Failed(
        f"{status}: {words}",
        status=status,
        code=code,
        retry_after=retry_after_of(headers if isinstance(headers, Mapping) else {}),
        transient=may_pass(status, code),
    )
