"""How often and when a failed call is sent again, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.model import ChatCall

# 529: overloaded, at endpoints that translate for Anthropic. 408, 425: the server asks for it.
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
_WHOLE = 20.0  # seconds; with less left, one try may have it all
_SHARE = 0.75


def may_pass(status: int, code: str = "") -> bool:
    """Whether the same call may succeed in a moment; quota that is used up won't come back."""
    return status in _TRANSIENT and code not in _SPENT


@dataclass(frozen=True, slots=True)
class Patience:
    """Six tries with five waits between them: 27 to 39 seconds of waiting in all."""

    tries: int = 6
    first: float = 1.25  # seconds
    jitter: float = 0.3  # a wait is cut by up to so much of it

    def wait(self, call: ChatCall, tries: int, retry_after: float | None = None) -> float:
        """Seconds before the next try, after so many.

        The jitter is a draw of the call's identity, as all our draws are: calls of one moment
        come back apart, and a run that is repeated waits the same.
        """
        draw = Draw("retry", call.case, call.spec.role, call.trial)
        return self.wait_by(draw, call.purpose, tries, retry_after)

    def wait_by(
        self, draw: Draw, purpose: str, tries: int, retry_after: float | None = None
    ) -> float:
        """The same for what is no call of a model."""
        backoff = self.first * float(2 ** (tries - 1))
        backoff *= 1 - self.jitter * draw.unit(purpose, tries)
        return max(backoff, retry_after or 0.0)

    @staticmethod
    def share(left: float) -> float:
        """Seconds that one try may take of those left: a hung one leaves time for another."""
        return left if left <= _WHOLE else max(_WHOLE, left * _SHARE)


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """What the endpoint says about when to come back, in seconds from now."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return seconds / scale
    return _until(headers.get("retry-after"), headers.get("date"))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until(text: str | None, date: str | None) -> float | None:
    """A date is read by the endpoint's own clock: ours may be wrong or may just have jumped."""
    when, now = _date(text), _date(date)
    if when is None:
        return None
    if now is None:
        now = datetime.now(when.tzinfo)
    return max(0.0, (when - now).total_seconds())


def _date(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text or "")
        return found.astimezone()
    except (ValueError, OverflowError):  # no date, or one that no clock shows
        return None
