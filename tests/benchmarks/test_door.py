"""The door to chat models beside bare aiohttp, in one run; the server has its own process."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from .conftest import measure

pytestmark = pytest.mark.benchmark

SERVER = Path(__file__).resolve().parents[2] / ".." / "shared" / "bench" / "fake_openai.py"
DOOR = """
import asyncio, json, sys, time, resource
from pytest_dialeval.models.door import Door
from pytest_dialeval.records.model import ChatCall, ModelSpec

base_url, calls, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
spec = ModelSpec("agent", "openai", "m", base_url)
text = "a message of some length " * 40

async def main():
    door = Door(environment={})
    if at_once > 20:
        door._line(spec).turnstile.limiter._limit = at_once  # slow start has its own tests
    todo = iter(range(calls))

    async def worker():
        for trial in todo:
            call = ChatCall(spec, ({"role": "user", "content": text},), "case", trial, "turn 1")
            assert (await door.chat(call, deadline=60)).tries == 1

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    spent = time.process_time() - cpu, time.perf_counter() - began
    await door.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": spent[0], "wall": spent[1], "peak": peak}))

asyncio.run(main())
"""
BARE = """
import asyncio, json, sys, time
import aiohttp, orjson

base_url, calls, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
text = "a message of some length " * 40

async def main():
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:
        todo = iter(range(calls))

        async def worker():
            for _ in todo:
                body = {"model": "m", "messages": [{"role": "user", "content": text}]}
                async with session.post(
                    base_url + "/chat/completions",
                    data=orjson.dumps(body),
                    headers={"content-type": "application/json"},
                ) as response:
                    orjson.loads(await response.read())["choices"][0]["message"]["content"]

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        spent = time.process_time() - cpu, time.perf_counter() - began
    print(json.dumps({"cpu": spent[0], "wall": spent[1]}))

asyncio.run(main())
"""


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The base URL of a fast fake endpoint with the latency of the parameter, in ms."""
    if not SERVER.exists():
        pytest.skip("../shared is not here")
    pytest.importorskip("httptools")
    command = [sys.executable, str(SERVER), "--port", "0", "--latency-ms", str(request.param)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    found = re.search(r"http://\S+", child.stdout.readline())
    assert found is not None
    yield found[0]
    child.terminate()
    child.wait(10)
    child.stdout.close()


def run(code: str, folder: Path, *arguments: object) -> dict[str, float]:
    (folder / "job.py").write_text(code, encoding="utf-8")
    done = measure([sys.executable, "job.py", *map(str, arguments)], folder)
    assert done.status == 0, done.output
    found: dict[str, float] = json.loads(done.output.splitlines()[-1])
    return found


@pytest.mark.parametrize("server", [0], indirect=True)
def test_cpu_of_a_call(
    server: str, tmp_path: Path, record: Callable[[str, str, str], None]
) -> None:
    calls, ours, bare = 4000, [], []
    for _ in range(5):
        ours.append(run(DOOR, tmp_path, server, calls, 16)["cpu"] / calls * 1000)
        bare.append(run(BARE, tmp_path, server, calls, 16)["cpu"] / calls * 1000)
    mine, floor = statistics.median(ours), statistics.median(bare)
    record("CPU of a streamed call through the door, ms", "<= 0.5", f"{mine:.3f}")
    record("CPU of a call of bare aiohttp, not streamed, ms", "", f"{floor:.3f}")
    assert mine <= 0.5


@pytest.mark.parametrize("server", [6000], indirect=True)
def test_2000_calls_at_once(
    server: str, tmp_path: Path, record: Callable[[str, str, str], None]
) -> None:
    found = run(DOOR, tmp_path, server, 2000, 2000)
    record("2000 calls in flight: peak memory, MB", "<= 400", f"{found['peak']:.0f}")
    record("2000 calls of 6 s at once: seconds", "", f"{found['wall']:.1f}")
    with urlopen(server.removesuffix("/v1") + "/stats") as stats:
        assert json.load(stats)["max_inflight"] == 2000
    assert found["peak"] <= 400
