"""The one door to chat models: limits, tries and deadlines around whatever carries a call."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dialeval.errors import HarnessFault, ProviderFault
from pytest_dialeval.models.client import ObjectChat, PlaceOf, transport_of
from pytest_dialeval.models.endpoints import PYTHON, Address, Features, address_of, features_of
from pytest_dialeval.models.limits import AdaptiveLimiter, Clock
from pytest_dialeval.models.presence import Presence
from pytest_dialeval.models.refusal import refused_parameter, remedy
from pytest_dialeval.models.retry import Patience, may_pass
from pytest_dialeval.models.transport import Failed, Transport
from pytest_dialeval.models.turnstile import Pass, Turnstile
from pytest_dialeval.models.watch import LoopWatch, Watch
from pytest_dialeval.models.wire import Unreadable
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec, Role
from pytest_dialeval.traces.redaction import Redaction

if TYPE_CHECKING:
    import aiohttp

LoadObject = Callable[[str], object]  # `file.py:object` -> the object


@dataclass(slots=True)
class Line:
    """What all calls of a spec share."""

    name: str  # for messages
    address: Address | None
    transport: Transport
    turnstile: Turnstile
    features: Features


@dataclass(slots=True)
class Course:
    """How far a call has come; read where it ends without an answer."""

    call: ChatCall
    line: Line
    ends: float
    tries: int = 0
    waiting: bool = True  # in our own queue
    last: str = ""  # what the last try failed with


@dataclass(slots=True)
class Shared:
    """What calls of all specs share."""

    turnstiles: dict[tuple[str, str], Turnstile] = field(default_factory=dict)
    refused: dict[tuple[str, str], ProviderFault] = field(default_factory=dict)
    presence: Presence = field(default_factory=Presence)
    notes: dict[str, None] = field(default_factory=dict)  # ordered, each once
    in_flight: Counter[Role] = field(default_factory=Counter)


class Door:
    """Answers calls; made and used in one event loop.

    `load_object` finds `python:` clients, `place_of` the line of theirs that raised.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        load_object: LoadObject | None = None,
        place_of: PlaceOf = lambda error: "",
        patience: Patience | None = None,
        clock: Clock | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._load_object = load_object
        self._place_of = place_of
        self._patience = patience or Patience()
        self._clock = clock
        self._watch = watch or LoopWatch()
        self._shared = Shared()
        self._addresses: dict[tuple[str, ...], Address] = {}
        self._lines: dict[ModelSpec, Line] = {}
        self._objects: dict[ModelSpec, ObjectChat] = {}
        self._session: aiohttp.ClientSession | None = None

    def settle(self, specs: Iterable[ModelSpec]) -> None:
        """Read where their calls go: the environment may have become a test's by the first call.

        One that lacks its key by now is looked up when it is called. Any thread may ask for this.
        """
        for spec in specs:
            if not spec.endpoint.startswith(PYTHON):
                with suppress(ProviderFault):
                    self._addresses.setdefault(_place(spec), address_of(spec, self._environment))

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        """The model's answer within `deadline` seconds, waiting and retries included.

        ProviderFault says what went wrong; a refused, cut or empty text is an answer.
        """
        if call.spec.endpoint.startswith(PYTHON):
            own = self._object(call.spec)
            if own.is_chat:
                return await own.chat(call, deadline=deadline)
        line = self._line(call.spec)
        course = Course(call, line, self._watch.now + deadline)
        try:
            return await self._persist(course)
        except TimeoutError:
            raise _late(course, deadline) from None

    def in_flight(self) -> Mapping[Role, int]:
        """Calls that are with an endpoint now, by role."""
        return +self._shared.in_flight

    def waiting(self) -> int:
        """Calls that wait for their turn because of limits."""
        return sum(each.waiting for each in self._shared.turnstiles.values())

    @property
    def throttled(self) -> int:
        """429s so far."""
        return sum(each.limiter.throttled for each in self._shared.turnstiles.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of results should know: parameters that an endpoint did not take."""
        return tuple(self._shared.notes)

    async def close(self) -> None:
        """Close connections; a call after that opens new ones."""
        for line in self._lines.values():
            await line.transport.close()
        session, self._session = self._session, None
        self._lines.clear()
        self._objects.clear()
        if session is not None:
            await session.close()

    async def _persist(self, course: Course) -> ChatAnswer:
        """Try until there is an answer or no sense in another try.

        The place is kept between tries: were it given away, each call in the queue would spend
        its own tries on an endpoint that is known to refuse.
        """
        turnstile, answer = course.line.turnstile, None
        # A timer for each part: most calls wait for nothing but their answer.
        place = turnstile.at_once(course.call) or await self._turn(
            course, turnstile.enter(course.call)
        )
        try:
            while True:
                course.waiting = False
                features = course.line.features
                try:
                    answer = await self._try(course, features)
                    return answer
                except Failed as failure:
                    wait = self._wait(course, failure, features)
                await asyncio.sleep(wait)
                course.waiting = True
                place = await self._turn(course, turnstile.renew(course.call, place))
        finally:
            turnstile.leave(place, answer)

    async def _turn(self, course: Course, waiting: Awaitable[Pass]) -> Pass:
        """Wait in our own queue, while there is time."""
        async with self._watch.timeout(course.ends - self._watch.now):
            return await waiting

    async def _try(self, course: Course, features: Features) -> ChatAnswer:
        """One request; the limits learn from how it went."""
        role, limiter = course.call.spec.role, course.line.turnstile.limiter
        self._raise_refused(course)
        course.tries += 1
        self._shared.in_flight[role] += 1
        try:
            answer = await self._send(course, features)
        except Failed as failure:
            _learn(limiter, failure)
            if failure.status is not None:
                self._note_answer(course)
            raise
        finally:
            self._shared.in_flight[role] -= 1
        self._note_answer(course)
        if course.tries == 1:
            limiter.succeeded()
        return answer

    def _note_answer(self, course: Course) -> None:
        if course.line.address is not None:
            self._shared.presence.answered(course.line.address.url)

    async def _send(self, course: Course, features: Features) -> ChatAnswer:
        began = self._watch.now
        share = self._patience.share(course.ends - began)
        try:
            async with self._watch.timeout(share):
                answer = await course.line.transport.send(course.call, features)
            return answer.after(self._watch.now - began, course.tries)
        except TimeoutError:
            if self._watch.now >= course.ends:
                raise
            raise Failed(f"no whole answer within {share:.3g} s") from None
        except Unreadable as error:
            passing = error.status is None or may_pass(error.status, error.code)
            raise Failed(
                str(error), status=error.status, code=error.code, transient=passing
            ) from None

    def _wait(self, course: Course, failure: Failed, features: Features) -> float:
        """Seconds until another try; raises where there will be none."""
        course.last = str(failure)
        patience, line = self._patience, course.line
        if course.tries < patience.tries and self._strike_out(line, failure, features, course.call):
            return 0.0
        if failure.stale and course.tries == 1:
            return 0.0
        if not failure.transient or course.tries >= self._most(course, failure):
            raise self._fault(course, failure)
        wait = patience.wait(course.call, course.tries, failure.retry_after)
        left = course.ends - self._watch.now
        if wait >= left:
            raise self._fault(course, failure, f"; the next try would be in {wait:.3g} s, too late")
        return wait

    def _most(self, course: Course, failure: Failed) -> int:
        """How many tries this failure is worth."""
        most, address = self._patience.tries, course.line.address
        if not failure.refused or address is None:
            return most
        presence = self._shared.presence
        if course.tries >= (most := presence.tries(address.url, most)):
            presence.gave_up(address.url)
        return most

    def _strike_out(self, line: Line, failure: Failed, sent: Features, call: ChatCall) -> bool:
        """Whether to send again without a parameter that the endpoint does not take."""
        parameter = refused_parameter(failure, call, sent)
        weaker = sent.without(parameter) if parameter else None
        if weaker is None:
            return False
        if line.features == sent:  # else another call was here first
            line.features = weaker
            note = f"{line.name} refused {parameter}; it was left out or replaced by a weaker one"
            self._shared.notes[note] = None
        return True

    def _fault(self, course: Course, failure: Failed, more: str = "") -> Exception:
        line = course.line
        tries = f" ({course.tries} tries)" if course.tries > 1 else ""
        text = f"{line.name}: {failure}{tries}{more}{remedy(failure, line.address)}"
        text = _redacted(text, line.address)
        if failure.ours:
            return HarnessFault(text)
        transient = failure.transient
        fault = ProviderFault(text, status=failure.status, transient=transient, tries=course.tries)
        if failure.status == 401 and line.address is not None:
            self._shared.refused[(line.address.url, line.address.key)] = fault
        return fault

    def _raise_refused(self, course: Course) -> None:
        """A key that was refused once is not shown again: the same message, and no request."""
        address = course.line.address
        known = self._shared.refused.get((address.url, address.key)) if address else None
        if known is not None:
            raise ProviderFault(str(known), status=known.status, transient=False, tries=0)

    def _object(self, spec: ModelSpec) -> ObjectChat:
        if spec not in self._objects:
            self._objects[spec] = ObjectChat.load(spec, self._load_object, self._place_of)
        return self._objects[spec]

    def _line(self, spec: ModelSpec) -> Line:
        line = self._lines.get(spec)
        if line is None:
            line = self._lines[spec] = self._new_line(spec)
            line.turnstile.heed(spec)
        return line

    def _new_line(self, spec: ModelSpec) -> Line:
        name = f"{spec.endpoint}:{spec.model}"
        if spec.endpoint.startswith(PYTHON):
            transport = transport_of(self._object(spec), spec)
            turnstile = self._turnstile(spec.endpoint, "")
            return Line(name, None, transport, turnstile, features_of(spec))
        address = self._addresses.get(_place(spec)) or address_of(spec, self._environment)
        transport = self._http(address)
        turnstile = self._turnstile(address.base_url, address.key)
        return Line(f"{name} at {address.host}", address, transport, turnstile, features_of(spec))

    def _turnstile(self, place: str, key: str) -> Turnstile:
        clock = self._clock or asyncio.get_running_loop().time
        return self._shared.turnstiles.setdefault((place, key), Turnstile(clock))

    def _http(self, address: Address) -> Transport:
        from pytest_dialeval.models import http  # aiohttp is slow to import

        if self._session is None:
            self._session = http.new_session()
        return http.HttpTransport(self._session, address)


def _place(spec: ModelSpec) -> tuple[str, ...]:
    """All that its address depends on, beside the environment."""
    return (spec.endpoint, spec.base_url or "", spec.api_key_env or "")


def _learn(limiter: AdaptiveLimiter, failure: Failed) -> None:
    if failure.status == 429 and failure.transient:
        limiter.rejected(failure.retry_after)
    elif failure.ours:
        limiter.cut()
    elif failure.transient and not failure.stale:
        limiter.failed()


def _late(course: Course, deadline: float) -> ProviderFault:
    """What a call was doing when its time was up."""
    where, tries = course.line.name, course.tries
    text = f"{where}: no answer within {deadline:.3g} s ({tries} {'tries' if tries > 1 else 'try'})"
    if course.last:
        text += f"; the last try: {course.last}"
    elif course.waiting:
        limiter = course.line.turnstile.limiter
        text += f"; it waited for its turn: {limiter.in_flight} of {limiter.limit} calls in flight"
    text += "; limits.turn_timeout gives a slow model more"
    return ProviderFault(_redacted(text, course.line.address), tries=tries)


def _redacted(text: str, address: Address | None) -> str:
    """Endpoints repeat the key that they refuse."""
    if address is None or not address.key:
        return text
    return Redaction({address.key_env: address.key}).text(text)
