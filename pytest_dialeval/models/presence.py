"""Which servers answered in this run: one that never did is not waited for as one that went."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from urllib.parse import urlsplit

_QUICK = 3  # tries of a server on this machine: it refuses because it does not run
_DOWN = 30.0  # seconds that one call's finding holds for all others


class Presence:
    """Asked where a connection was refused; `url` is any of the server's. Lives on one loop."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._urls: set[str] = set()  # as they were given
        self._down_until: dict[str, float] = {}

    def answered(self, url: str) -> None:
        """Somebody is there: should it go away, it is worth waiting for."""
        if url not in self._urls:
            self._urls.add(url)
            self._answered.add(_place(url))

    def gave_up(self, url: str) -> None:
        """A call has spent all its tries on refusals."""
        self._down_until[_place(url)] = asyncio.get_running_loop().time() + _DOWN

    def tries(self, url: str, most: int) -> int:
        """How many tries a call may make that is refused."""
        place = _place(url)
        if place in self._answered:
            return most
        if asyncio.get_running_loop().time() < self._down_until.get(place, 0.0):
            return 1
        return min(most, _QUICK) if is_local(url) else most


def is_local(url: str) -> bool:
    """Whether it leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
