from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_dialeval.conversation.program import Program


def alive(pid: int) -> bool:
    """Whether a process of that number exists, dead and unreaped ones included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int) -> bool:
    """Whether a killed process of somebody else's ends: the kernel takes its moment."""
    until = time.monotonic() + 5
    while running(pid) and time.monotonic() < until:
        threading.Event().wait(0.005)
    return not running(pid)


def running(pid: int) -> bool:
    """Whether it exists and is not merely waiting to be reaped by somebody else."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")

# Ignores SIGTERM, and so does its child, whose number it prints.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
signal.pause()
while True:
    signal.pause()
"""
# Leaves at once; its child stays and keeps nothing of ours open.
RUNAWAY = """
import os, signal
child = os.fork()
if child:
    print(child, flush=True)
    os._exit(0)
signal.pause()
"""


async def python(text: str, *arguments: str) -> Program:
    command = [sys.executable, "-c", text, *arguments]
    return await Program.begin(command, Path.cwd(), os.environ)


def test_lines_go_in_and_out():
    async def main() -> None:
        program = await python("for line in open(0): print(line.upper(), end='', flush=True)")
        await program.send(b"hello")
        assert await program.output.line() == b"HELLO"
        await program.stop(5)
        assert program.exit_code == 0  # its input was closed: it ended by itself

    asyncio.run(main())


@needs_proc
def test_neither_zombie_nor_open_file_is_left():
    async def main() -> list[int]:
        programs = [await python("print('x')") for _ in range(3)]
        for each in programs:
            await each.output.line()
        await asyncio.gather(*(each.stop(1) for each in programs))
        return [each._process.pid for each in programs]

    before = open_files()
    pids = asyncio.run(main())
    assert not any(map(alive, pids))
    assert open_files() == before


@needs_proc
def test_no_guard_is_left():
    async def main() -> list[int]:
        ended, stopped = await python("print('x')"), await python(STUBBORN)
        guards = [each._guard._process for each in (ended, stopped)]
        await stopped.output.line()
        assert all(each is not None and each.poll() is None for each in guards)
        for each in (ended, stopped):
            await each.stop(0)
        return [each.pid for each in guards if each is not None]

    assert not any(map(alive, asyncio.run(main())))


def test_a_machine_without_a_shell_does_without_guards(monkeypatch):
    popen = subprocess.Popen

    def no_shell(command, **keys):
        if command[0] == "/bin/sh":
            raise FileNotFoundError(command[0])
        return popen(command, **keys)

    monkeypatch.setattr(subprocess, "Popen", no_shell)

    async def main() -> int | None:
        program = await python("print('x')")
        assert await program.output.line() == b"x"
        await program.stop(5)
        return program.exit_code

    assert asyncio.run(main()) == 0


@needs_proc
def test_what_ignores_sigterm_is_killed_with_its_children():
    async def main() -> tuple[int, int]:
        program = await python(STUBBORN)
        child = int(await program.output.line())
        assert running(child)
        await program.stop(0)
        assert program.exit_code == -9
        return program._process.pid, child

    head, child = asyncio.run(main())
    assert not alive(head)
    assert gone(child)


@needs_proc
def test_children_that_outlive_the_program_are_killed():
    async def main() -> int:
        program = await python(RUNAWAY)
        child = int(await program.output.line())
        await program._over(program._exited, 5)
        assert running(child)
        await program.stop(1)
        return child

    child = asyncio.run(main())
    assert gone(child)


@needs_proc
def test_cancelling_the_wait_kills_at_once():
    async def main() -> int:
        program = await python(STUBBORN)
        child = int(await program.output.line())
        stopping = asyncio.create_task(program.stop(60))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        await program._over(program._reaped, 5)
        return child

    child = asyncio.run(main())
    assert gone(child)


def test_a_program_has_a_session_of_its_own_so_that_ctrl_c_passes_it_by():
    async def main() -> tuple[bytes, int]:
        program = await python("import os; print(os.getsid(0))")
        line, pid = await program.output.line(), program._process.pid
        await program.stop(1)
        return line, pid

    line, pid = asyncio.run(main())
    assert int(line) == pid != os.getsid(0)


def test_last_words():
    async def main(text: str) -> str:
        program = await python(text)
        with pytest.raises(EOFError):
            await program.output.line()
        words = await program.last_words()
        await program.stop(0)
        return words

    ended = asyncio.run(main("import sys; sys.stderr.write('no key\\n'); sys.exit(3)"))
    assert ended == "ended with exit code 3; the end of its stderr: no key"
    killed = asyncio.run(main("import os; os.kill(os.getpid(), 15)"))
    assert killed == "was ended by signal 15"
    mute = asyncio.run(main("import os, signal; os.close(1); signal.pause()"))
    assert mute == "closed its output"


def test_a_dead_program_is_written_to_in_vain():
    async def main() -> None:
        program = await python("")
        await program._over(program._exited, 5)
        for _ in range(3):
            await program.send(b"x" * 100_000)
        await program.stop(0)
        await program.stop(0)  # harmless to repeat

    asyncio.run(main())


# Its child leaves the group, and so outlives it, with the reading end in its hand.
DESERTER = """
import os, signal
child = os.fork()
if child:
    print(child, flush=True)
else:
    os.setsid()
    signal.alarm(30)
signal.pause()
"""


@needs_proc
def test_a_line_that_is_never_read_does_not_keep_the_pipe_open():
    async def main() -> int:
        program = await python(DESERTER)
        child = int(await program.output.line())
        sending = asyncio.create_task(program.send(b"x" * 1_000_000))
        await asyncio.sleep(0)
        sending.cancel()
        await program.stop(0)
        return child

    before = open_files()
    child = asyncio.run(main())
    os.kill(child, signal.SIGKILL)
    assert open_files() == before


@needs_proc
@pytest.mark.parametrize("steps", range(6))
def test_a_start_that_is_cancelled_leaves_nothing(steps: int):
    async def main() -> None:
        starting = asyncio.create_task(python("import signal; signal.pause()"))
        for _ in range(steps):
            await asyncio.sleep(0)
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await (await starting).stop(0)

    before = open_files()
    asyncio.run(main())
    gc.collect()  # an unclosed file would be an error here
    assert open_files() == before


def test_what_cannot_be_started_leaves_nothing():
    async def main() -> None:
        with pytest.raises(FileNotFoundError):
            await Program.begin(["no-such-program"], Path.cwd(), {})

    asyncio.run(main())
