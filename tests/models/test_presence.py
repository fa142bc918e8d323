"""Who never answered is not waited for; who did is."""

from __future__ import annotations

import asyncio

import pytest

from pytest_dialeval.models.presence import Presence, is_local

from .virtual import virtually

HERE, THERE = "http://127.0.0.1:9/v1", "https://models.example/v1"


@pytest.mark.parametrize(
    "url", ["http://localhost:1/", "http://127.0.0.3/x", "https://[::1]:80/v1", HERE]
)
def test_this_machine(url: str) -> None:
    assert is_local(url)


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://localhost.example/", "http:/", THERE])
def test_another_machine(url: str) -> None:
    assert not is_local(url)


def test_what_one_call_found_out_holds_for_a_while() -> None:
    async def story() -> None:
        presence = Presence()
        assert (presence.tries(HERE, 6), presence.tries(THERE, 6)) == (3, 6)
        for url in (HERE, THERE):
            presence.gave_up(url)
            assert presence.tries(f"{url}/chat", 6) == 1
        assert presence.tries("http://127.0.0.1:10/v1", 6) == 3  # another server
        await asyncio.sleep(31)
        assert (presence.tries(HERE, 6), presence.tries(THERE, 6)) == (3, 6)

    virtually(story())


def test_who_answered_once_is_waited_for() -> None:
    async def story() -> None:
        presence = Presence()
        presence.gave_up(HERE)
        presence.answered(HERE)
        presence.gave_up(HERE)
        assert presence.tries(HERE, 6) == 6

    virtually(story())
