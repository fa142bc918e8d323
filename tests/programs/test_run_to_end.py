from __future__ import annotations

import os
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.programs.kept import Kept
from pytest_dialeval.programs.run_to_end import Ended, Stopped, run_to_end
from pytest_dialeval.programs.strays import MARK, end_strays, new_mark
from tests.conversation.test_program import gone, needs_proc

# Writes its number to a file, then sleeps; `setsid` is what a daemon does.
SLEEPER = """
import os, sys, time
if sys.argv[2] == "daemon": os.setsid()
open(sys.argv[1] + ".new", "w").write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""
LEAVES = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2], sys.argv[3]])
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
print("done")
"""


def ran(text: str, *arguments: str, seconds: float = 30.0, **keys: Any) -> Ended:
    command = [sys.executable, "-c", text, *arguments]
    stop = keys.pop("stop", threading.Event())
    return run_to_end(command, Path.cwd(), os.environ, seconds=seconds, stop=stop, **keys)


def test_what_it_said_and_how_it_ended():
    ended = ran("import sys; print('out', flush=True); print('err', file=sys.stderr); exit(3)")
    assert (ended.status, ended.output) == (3, "out\nerr\n")


def test_stdout_may_go_to_a_file(tmp_path: Path):
    with (tmp_path / "out").open("wb") as file:
        ended = ran("import sys; print('out'); print('err', file=sys.stderr)", stdout=file)
    assert ((tmp_path / "out").read_text(), ended.output) == ("out\n", "err\n")


def test_a_command_that_hangs_ends_at_its_deadline():
    began = time.monotonic()
    ended = ran("import time; print('hm', flush=True); time.sleep(600)", seconds=0.3)
    assert (ended.status, ended.output) == (None, "hm\n")
    assert time.monotonic() - began < 10


def test_one_that_closes_its_output_and_goes_on_is_awaited():
    ended = ran("import os, time; os.close(1); os.close(2); time.sleep(0.2); os._exit(7)")
    assert ended.status == 7


def test_a_signal_is_told():
    assert ran("import os; os.kill(os.getpid(), 9)").status == -9


def test_a_status_that_somebody_else_took_is_no_success(monkeypatch: pytest.MonkeyPatch):
    def taken(*_: object) -> None:
        raise ChildProcessError

    monkeypatch.setattr(os, "waitid", taken)
    with pytest.raises(ChildProcessError, match="its exit status is lost"):
        ran("exit(1)")


def test_there_is_no_such_program(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        run_to_end(["no-such-program"], tmp_path, {}, seconds=1, stop=threading.Event())


@needs_proc
@pytest.mark.parametrize("kind", ["child", "daemon"])
def test_no_child_survives(tmp_path: Path, kind: str):
    ended = ran(LEAVES, SLEEPER, str(tmp_path / "pid"), kind)
    assert (ended.status, ended.output) == (0, "done\n")
    assert gone(int((tmp_path / "pid").read_text()))
    assert ended.strays == (kind == "daemon")


@needs_proc
def test_nobody_waits_any_more(tmp_path: Path):
    stop, pid = threading.Event(), tmp_path / "pid"

    def stop_it() -> None:
        while not pid.exists():
            stop.wait(0.01)
        stop.set()

    threading.Thread(target=stop_it).start()
    with pytest.raises(Stopped):
        ran(SLEEPER, str(pid), "", stop=stop, seconds=600)
    assert gone(int(pid.read_text()))


def test_100_megabytes_cost_no_memory():
    text = "import os\nfor _ in range(1600): os.write(1, b'x' * 65536)\nos.write(1, b'the end')"
    tracemalloc.start()
    try:
        ended = ran(text, keep=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert ended.status == 0
    assert ended.output.startswith("x" * 500 + "\n[... ") and ended.output.endswith("the end")
    assert len(ended.output) < 1100 and peak < 2_000_000


def test_what_is_short_is_kept_whole():
    kept = Kept(8)
    for each in (b"ab", b"cdef", b"gh"):
        kept.take(each)
    assert kept.text == "abcdefgh"
    kept.take(b"ij")
    assert kept.text == "abcd\n[... 2 bytes left out ...]\nghij"


@needs_proc
def test_nobody_elses_processes_are_met():
    assert end_strays(new_mark(), os.getpid()) == 0
    assert MARK not in os.environ
