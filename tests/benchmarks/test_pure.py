"""Bounds on single steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.statistics.pass_k import CaseCount, pass_curve
from pytest_dialeval.suites.load import load_suite

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize(
    ("cases", "trials"), [(25_000, 8), (200_000, 1), (447, 447), (10, 20_000)], ids=str
)
def test_pass_k_over_200_000_trials(
    cases: int, trials: int, record: Callable[[str, str, str], None]
) -> None:
    passed = [n * trials // cases for n in range(cases)]
    counts = [CaseCount(passed=each, failed=trials - each) for each in passed]
    began = time.perf_counter()
    curve = pass_curve(counts)
    took = time.perf_counter() - began
    assert curve[1].cases == cases
    record(f"Pass^1..{trials} over {cases} cases", "< 1 s", f"{took:.2f} s")
    assert took < 1


def test_a_suite_file_of_1_7_mb(tmp_path: Path, record: Callable[[str, str, str], None]) -> None:
    line = "a line that the persona says when it is asked for the number of the order, in words"
    states = (
        "start: {say: [%s, %s], next: [{when: {keyword: {any: [order, number]}}, to: told}, "
        "{to: start}]}, told: {say: [%s, %s], end: true}"
    )
    head = (
        "dialeval: 1\ntask: {id: big}\nagents: {a: {use: scripted, script: a.yaml}}\n"
        "rubrics:\n  - {id: a, dimension: completion, keyword: {any: [order]}}\npersonas:\n"
    )
    (tmp_path / "a.yaml").write_text("otherwise: [yes]\n", encoding="utf-8")
    body, number = [], 0
    size = len(head)
    while size < 1_700_000:
        said = tuple(f"{line} {number} {each}" for each in range(4))
        body.append(f"  - {{id: p{number}, script: {{states: {{{states % said}}}}}}}\n")
        size += len(body[-1])
        number += 1
    path = tmp_path / "big.dialeval.yaml"
    path.write_text(head + "".join(body), encoding="utf-8")
    matchers = builtin_matchers()
    began = time.perf_counter()
    suite = load_suite(path, rootdir=tmp_path, matchers=matchers)
    took = time.perf_counter() - began
    assert len(suite.personas) == number
    record(f"a suite of {size / 1e6:.1f} MB, {number} personas", "< 1.5 s", f"{took:.2f} s")
    assert took < 1.5
