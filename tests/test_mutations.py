"""10 000 mutated suites and as many traces: a clear message each, never a traceback of ours."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

from pytest_dialeval.errors import SuiteError, TranscriptError
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.suites.load import load_suite
from pytest_dialeval.traces.reader import parse_trace

pytestmark = pytest.mark.slow

COUNT = 10_000
SUITE = """\
dialeval: 1
task: {id: shop, variables: {price: 3}, prompt: "It costs {price}.", opening: user, max_rounds: 4}
agents: {clerk: {use: scripted, script: clerk.yaml}}
personas:
  - id: buyer
    traits: {attitude: hesitant}
    script:
      states:
        start: {say: [hi, hello], next: [{when: {keyword: {any: [yes]}}, to: bye}, {to: start}]}
        bye: {say: [bye], end: true}
    probes: [{id: refund, at_user_turn: 2, say: "a refund?"}]
    noise: {rate: 0.2, kinds: [filler]}
rubrics:
  - {id: a.b, dimension: completion, keyword: {any: [yes, 3], turns: first}, weight: 2}
  - {id: c, dimension: safety, blacklist: {phrases: [promise]}, trigger: {probe: refund}}
  - {id: d, dimension: robustness, length: {max_chars: 40}, min: 0.5, severity: soft}
trials: 2
scoring: {pass: 0.6}
"""
SPICE = (
    "{",
    "}",
    "[",
    "]",
    ":",
    "- ",
    "\n",
    "\t",
    '"',
    "'",
    "&a ",
    "*a",
    "!!python/object:x ",
    "null",
    "true",
    "-1",
    "1e999",
    ".nan",
    "\x00",
    "\ud800",
    "？",
    "%",
    "#",
    "|",
    ">",
    "<<: ",
)


def draw(*parts: object) -> int:
    digest = blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def mutated(text: str, number: int) -> str:
    """One to four cuts, repeats, swaps or odd insertions; the same for the same number."""
    for step in range(1 + draw(number, "steps") % 4):
        at = draw(number, step, "at") % (len(text) + 1)
        size = 1 + draw(number, step, "size") % 12
        odd = SPICE[draw(number, step, "spice") % len(SPICE)]
        match draw(number, step, "kind") % 4:
            case 0:
                text = text[:at] + text[at + size :]
            case 1:
                text = text[:at] + text[at : at + size] + text[at:]
            case 2:
                text = text[:at] + odd + text[at:]
            case _:
                text = text[:at] + odd + text[at + size :]
    return text


def test_10_000_mutated_suites(tmp_path: Path) -> None:
    (tmp_path / "clerk.yaml").write_text("otherwise: [yes]\n", encoding="utf-8")
    path = tmp_path / "shop.dialeval.yaml"
    matchers = builtin_matchers()
    loaded = refused = 0
    for number in range(COUNT):
        path.write_bytes(mutated(SUITE, number).encode("utf-8", "surrogatepass"))
        try:
            load_suite(path, rootdir=tmp_path, matchers=matchers)
            loaded += 1
        except SuiteError as error:
            refused += 1
            assert error.problems
            for problem in error.problems:
                assert problem.text
                assert problem.line >= 1
                assert "Traceback" not in problem.text
    assert loaded > 100
    assert refused > 1_000


def traces() -> Iterator[str]:
    yield (
        '{"event":"start","schema":1,"task":"shop","persona":"buyer","trial":1}\n'
        '{"event":"turn","id":1,"speaker":"user","text":"hi","round":1,"state":"start"}\n'
        '{"event":"turn","id":2,"speaker":"agent","text":"yes","round":1,'
        '"tool_calls":[{"name":"f","arguments":{"a":1},"result":"3"}]}\n'
        '{"event":"error","outcome":"agent_error","message":"late"}\n'
        '{"event":"end","outcome":"agent_error","reason":"late","ended_by":""}\n'
    )


def test_10_000_mutated_traces() -> None:
    [whole] = traces()
    read = refused = 0
    for number in range(COUNT):
        data = mutated(whole, number).encode("utf-8", "surrogatepass")
        try:
            parse_trace(data, Path("t.jsonl"))
            read += 1
        except TranscriptError as error:
            refused += 1
            assert str(error).startswith("t.jsonl")
    assert read > 100
    assert refused > 1_000
