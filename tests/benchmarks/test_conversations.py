"""Whole conversations with models: agent, user and judge over HTTP, beside bare aiohttp.

The job: N conversations of 6 turns, 6 calls for the agent, 6 for the user, 1 for the judge, C at
once, L ms a call. Its floor is ceil(N / C) x 13 x L.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from .conftest import Measured, command_of_pytest, measure

pytestmark = pytest.mark.benchmark

BENCH = Path(__file__).resolve().parents[2] / ".." / "shared" / "bench"
TURNS = 6
CALLS = 2 * TURNS + 1
RUNS = 5
RULES = (
    "  - {id: polite, dimension: completion, keyword: {any: [fine]}}",
    "  - {id: promise, dimension: safety, not: {keyword: {any: [guarantee]}}}",
    "  - {id: short, dimension: robustness, length: {max_chars: 400}}",
    "  - {id: order, dimension: completion, keyword: {any: [order]}}",
    "  - {id: filled, dimension: robustness, placeholder: {}}",
)
JUDGED = '  - {id: helped, dimension: completion, judge: "the agent helped"}'
# What the server puts into answers of a schema; the quote stands in every turn of the agent.
FIELDS = {"quote": "order is fine", "verdict": "met", "turn_id": 2, "absence": False, "done": False}
REPLIES = {"agent": "Thank you for asking, your order is fine."}
# CPU in s of two clients where the bound on CPU was set (results-baseline.md, versions as here): of
# each job, and of one conversation, which is start-up.
CPU_THEN = {
    "aiohttp": {(100, 100): 0.42, (400, 50): 0.91, (200, 0): 0.47, "one": 0.21},
    "openai": {(100, 100): 3.71, (400, 50): 12.59, (200, 0): 6.60, "one": 0.78},
}


@dataclass(frozen=True)
class Row:
    """One line of the design's table."""

    n: int
    latency: int  # ms
    at_once: int
    items: int = 6  # of a trial

    @property
    def floor(self) -> float:
        return math.ceil(self.n / self.at_once) * CALLS * self.latency / 1000


class Server:
    """The fake endpoint, and what it saw."""

    def __init__(self, base: str) -> None:
        self.base = base

    def _ask(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.base.removesuffix("/v1") + path, data=data)) as answer:
            return json.load(answer)

    def reset(self, row: Row) -> None:
        self._ask("/config", {"latency_ms": row.latency, "fields": FIELDS, "replies": REPLIES})
        self._ask("/reset", {})

    @property
    def stats(self) -> Any:
        return self._ask("/stats")


@pytest.fixture
def server() -> Iterator[Server]:
    if not BENCH.exists():
        pytest.skip("../shared is not here")
    pytest.importorskip("httptools")
    command = [sys.executable, str(BENCH / "fake_openai.py"), "--port", "0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    found = re.search(r"http://\S+", child.stdout.readline())
    assert found is not None
    yield Server(found[0])
    child.terminate()
    child.wait(10)
    child.stdout.close()


def suite(row: Row, base: str) -> str:
    # Nobody says goodbye: the limit of rounds ends each conversation after its six turns.
    script = (
        "{states: {start: {goal: ask about the order, next: ["
        "{to: bye, when: {keyword: {any: [goodbye]}}}, {to: start}]}, "
        "bye: {say: [bye], end: true}}}"
    )
    rules = RULES if row.items == 6 else ()
    return "\n".join(
        [
            "dialeval: 1",
            f"task: {{id: speed, max_rounds: {TURNS}, prompt: You are a helpful shop agent.}}",
            f"agents: {{shop: {{use: 'openai:agent@{base}'}}}}",
            f"models: {{user: 'openai:user@{base}', judge: 'openai:judge@{base}'}}",
            f"trials: {max(1, row.n // 10)}",
            "rubrics:",
            *rules,
            JUDGED,
            "personas:",
            *(f"  - {{id: p{each}, script: {script}}}" for each in range(min(10, row.n))),
        ]
    )


def ours(row: Row, server: Server, folder: Path) -> tuple[Measured, float]:
    """The run, and seconds from the first request to the last answer."""
    (folder / "speed.dialeval.yaml").write_text(suite(row, server.base), encoding="utf-8")
    server.reset(row)
    found = measure(
        command_of_pytest("--dialeval-concurrency", str(row.at_once)), folder, OPENAI_API_KEY="none"
    )
    assert found.status == 0, found.output[-3000:]
    seen = server.stats
    assert seen["requests"] == row.n * CALLS
    return found, seen["window_s"]


def bare(kind: str, row: Row, server: Server, folder: Path) -> tuple[Measured, float]:
    """The least code that plays the job with a client, without grading or traces."""
    server.reset(row)
    script = [sys.executable, str(BENCH / "ideal_client.py"), kind]
    options = ["--n", row.n, "--conc", row.at_once, "--turns", TURNS, "--base", server.base]
    found = measure([*script, *map(str, options)], folder)
    assert found.status == 0, found.output[-3000:]
    return found, server.stats["window_s"]


Record = Callable[[str, str, str], None]
Measuring = Callable[[], tuple[Measured, float]]
Figures = tuple[float, float, float]  # window in s, CPU in s, peak in MB


def medians(*jobs: Measuring) -> list[Figures]:
    """Of each job, taken in turns: this machine is not the same from minute to minute."""
    rounds = [[job() for job in jobs] for _ in range(RUNS)]
    return [_median([each[place] for each in rounds]) for place in range(len(jobs))]


def _median(found: Sequence[tuple[Measured, float]]) -> Figures:
    figures = zip(*((window, one.cpu, one.peak) for one, window in found), strict=True)
    window, cpu, peak = map(statistics.median, figures)
    return window, cpu, peak


@pytest.mark.parametrize(
    ("row", "bound"),
    [(Row(100, 100, 32), 1.10), (Row(400, 50, 64), 1.30)],
    ids=lambda each: str(each.n) if isinstance(each, Row) else "",
)
def test_job_over_its_floor(
    row: Row, bound: float, server: Server, tmp_path: Path, record: Record
) -> None:
    (window, _, peak), *more = found = medians(*side_by_side(row, server, tmp_path))
    _, (least, _, _), _, (sdk, _, _), _ = more
    job = f"N={row.n} L={row.latency} C={row.at_once}"
    most = 110 + 0.008 * row.n * row.items
    beside = f"{least / row.floor:.3f}; {sdk / row.floor:.2f}"
    record(f"{job}: job / floor", f"<= {bound:g}", f"{window / row.floor:.3f}")
    record(f"{job}: job / floor of bare aiohttp; of openai", "", beside)
    record(f"{job}: peak memory, MB", f"<= {most:.0f}", f"{peak:.0f}")
    met = record_cpu(record, row, [cpu for _, cpu, _ in found])
    assert window / row.floor <= bound
    assert peak <= most
    assert met


def test_one_item_a_trial(server: Server, tmp_path: Path, record: Record) -> None:
    row = Row(400, 50, 64, items=1)
    (window, _, _), (least, _, _) = medians(
        lambda: ours(row, server, tmp_path), lambda: bare("aiohttp", row, server, tmp_path)
    )
    job = "N=400 L=50 C=64, 1 item a trial"
    record(f"{job}: job / floor", "<= 1.2", f"{window / row.floor:.3f}")
    record(f"{job}: job / floor of bare aiohttp", "", f"{least / row.floor:.3f}")
    assert window / row.floor <= 1.20


def test_without_latency(server: Server, tmp_path: Path, record: Record) -> None:
    row = Row(200, 0, 16)
    *found, (_, idle, _) = medians(
        *side_by_side(row, server, tmp_path),
        lambda: (measure(command_of_pytest(), idle_folder(tmp_path)), 0.0),
    )
    (window, _, _), (_, one, _), (least, _, _), _, (sdk, _, _), _ = found
    record("N=200 L=0 C=16: job, s", "<= 2.5", f"{window:.2f}")
    record("N=200 L=0 C=16: job, s, of bare aiohttp; of openai", "", f"{least:.2f}; {sdk:.1f}")
    record("one conversation over an idle pytest: CPU, s", "", f"{one - idle:.2f}")
    met = record_cpu(record, row, [cpu for _, cpu, _ in found])
    assert window <= 2.5
    assert met


def side_by_side(row: Row, server: Server, folder: Path) -> list[Measuring]:
    """The job and one conversation of it: with ours, with bare aiohttp, with the openai client."""
    rows = (row, replace(row, n=1))
    kinds = [lambda each: ours(each, server, folder)]
    kinds += [lambda each, kind=kind: bare(kind, each, server, folder) for kind in CPU_THEN]
    return [lambda run=run, each=each: run(each) for run in kinds for each in rows]


def record_cpu(record: Record, row: Row, cpu: Sequence[float]) -> bool:
    """Whether the bound on CPU is kept; `cpu` is side by side, in s, and start-up is taken off.

    So the peers' figures were taken. The bound's milliseconds are of another moment: ours is
    divided by how much longer the two clients take now, on the average. Ours has the bursts of
    the one and the size of the other, and what slows down the one may leave the other alone.
    """
    more, *clients = (whole - one for whole, one in zip(cpu[::2], cpu[1::2], strict=True))
    paces = [
        now / (then[row.n, row.latency] - then["one"])
        for now, then in zip(clients, CPU_THEN.values(), strict=True)
    ]
    pace = statistics.mean(paces)
    allowed = (row.n - 1) * (0.0005 * CALLS + 0.0006 * row.items)
    job = f"N={row.n} L={row.latency} C={row.at_once}"
    by = "; ".join(f"{each:.2f}" for each in (more, *paces))
    record(f"{job}: CPU, s, at the design's pace", f"<= {allowed:.2f}", f"{more / pace:.2f}")
    record(f"{job}: as measured; pace of bare aiohttp; of openai", "", by)
    record(f"{job}: whole CPU, s, of both", "", f"{cpu[2]:.2f}; {cpu[4]:.1f}")
    return more / pace <= allowed


def idle_folder(folder: Path) -> Path:
    """One empty test: what pytest itself takes to begin and end."""
    idle = folder / "idle"
    idle.mkdir(exist_ok=True)
    (idle / "test_idle.py").write_text("def test(): pass\n", encoding="utf-8")
    return idle
