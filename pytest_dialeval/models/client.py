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

PlaceOf = Callable[[BaseException], str]  # the user's own line, as ` (file.py:12)`
_CONNECTION = frozenset({"APIConnectionError", "APITimeoutError"})


@dataclass(frozen=True, slots=True)
class ObjectChat:
    """What `python:file.py:object` is; `own` if a function made it for us."""

    name: str
    value: Any
    own: bool
    place_of: PlaceOf = lambda error: ""

    @classmethod
    def load(
        cls,
        spec: ModelSpec,
        load: Callable[[str], object] | None,
        place_of: PlaceOf = lambda error: "",
    ) -> ObjectChat:
        """The object, made by its function where it is one; ProviderFault where it can't be."""
        if load is None:
            raise ProviderFault(f"{spec.endpoint!r} cannot be loaded here", transient=False)
        value: Any = load(spec.endpoint.removeprefix(PYTHON))
        if inspect.isclass(value):
            text = "is a class; name an object that is made of it, or a function that makes one"
            raise ProviderFault(f"{spec.endpoint!r} {text}", transient=False)
        own = inspect.isfunction(value)
        if own:
            try:
                value = value()
            except Exception as error:
                raise _raised(spec.endpoint, error, place_of) from error
        found = cls(spec.endpoint, value, own, place_of)
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
            raise _raised(self.name, error, self.place_of) from error
        if not isinstance(answer, ChatAnswer):
            text = f"{self.name} must give a ChatAnswer, not {type(answer).__name__}"
            raise ProviderFault(text, transient=False)
        return answer


def _raised(name: str, error: Exception, place_of: PlaceOf) -> ProviderFault:
    """What the user's own code raised, and where."""
    text = f"{type(error).__name__}: {wire.shortened(str(error))}".removesuffix(": ")
    return ProviderFault(f"{name}: {text}{place_of(error)}", transient=False)


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
            raise _failure(error, self._found.place_of) from error

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


def _failure(error: Exception, place_of: PlaceOf) -> Failed:
    """An exception of the openai package, told by its attributes so that it need not be there."""
    status = getattr(error, "status_code", None)
    text = wire.shortened(str(error)) or type(error).__name__
    if not isinstance(status, int):
        names = {each.__name__ for each in type(error).__mro__}
        lost = bool(names & _CONNECTION) or isinstance(error, OSError)
        place = "" if lost else place_of(error)
        return Failed(f"{type(error).__name__}: {text}{place}", transient=lost)
    _, code, words = wire.error_of(getattr(error, "body", None) or text)
    headers = getattr(getattr(error, "response", None), "headers", {})
    return Failed(
        f"{status}: {words}",
        status=status,
        code=code,
        retry_after=retry_after_of(headers if isinstance(headers, Mapping) else {}),
        transient=may_pass(status, code),
    )
