from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.conversation.pipes import LINE_MAX, TAIL, Lines, Outlet, Tail
from pytest_dialeval.errors import AgentFault


async def every(lines: Lines) -> list[bytes]:
    found = []
    while True:
        try:
            found.append(await lines.line())
        except EOFError:
            return found


@settings(deadline=None)
@given(st.lists(st.binary(max_size=5)))
def test_lines_do_not_depend_on_how_they_were_cut(chunks: list[bytes]):
    lines = Lines()
    for each in chunks:
        lines.data_received(each)
    lines.connection_lost(None)
    whole = b"".join(chunks).split(b"\n")
    assert asyncio.run(every(lines)) == (whole[:-1] if not whole[-1] else whole)


def test_a_waiting_reader_is_woken():
    async def main() -> bytes:
        lines = Lines()
        waiting = asyncio.create_task(lines.line())
        await asyncio.sleep(0)
        lines.data_received(b"he")
        await asyncio.sleep(0)
        assert not waiting.done()
        lines.data_received(b"llo\nmore")
        return await waiting

    assert asyncio.run(main()) == b"hello"


def test_unread_is_a_whole_line_only():
    lines = Lines()
    lines.data_received(b"half")
    assert lines.unread is None
    lines.data_received(b" a line\n")
    assert lines.unread == b"half a line"
    asyncio.run(lines.line())
    assert lines.unread is None


def test_a_line_of_sixteen_megabytes_is_read_and_a_longer_one_is_a_fault():
    lines = Lines()
    lines.data_received(b"x" * LINE_MAX)
    lines.data_received(b"\n")
    assert len(asyncio.run(lines.line())) == LINE_MAX
    lines.data_received(b"x" * (LINE_MAX + 1))
    with pytest.raises(AgentFault, match="longer than 16777216 bytes"):
        asyncio.run(lines.line())


def test_reading_pauses_beyond_the_bound():
    class Transport(asyncio.ReadTransport):
        paused = False

        def pause_reading(self) -> None:
            self.paused = True

    lines, transport = Lines(), Transport()
    lines.connection_made(transport)
    lines.data_received(b"x\n" * 1000)
    assert not transport.paused
    lines.data_received(b"x" * LINE_MAX)
    lines.data_received(b"x")
    assert transport.paused


def test_the_tail_keeps_the_end():
    tail = Tail()
    tail.data_received(b"x" * 10_000)
    tail.data_received("last wörds\x1b[0m\n".encode())
    assert tail.text.endswith("xlast wörds")
    assert len(tail.text) <= TAIL


def test_the_outlet_waits_for_its_reader():
    async def main() -> None:
        outlet = Outlet()
        await outlet.drained()
        outlet.pause_writing()
        waiting = asyncio.create_task(outlet.drained())
        await asyncio.sleep(0)
        assert not waiting.done()
        outlet.resume_writing()
        await waiting
        outlet.pause_writing()
        outlet.connection_lost(None)
        await outlet.drained()

    asyncio.run(main())
