"""The ledger: what stands in it was written before any report, and a change shows."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.run import TrialFacts
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import OUTCOMES
from pytest_dialeval.records.verdict import Evidence, Verdict
from pytest_dialeval.runs.ledger import Entry, LedgerWriter, facts, read_ledger
from tests.runs.samples import conversation, failed, passed, silent, unscored, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.main.jsonl"


@pytest.fixture
def writer(path: Path) -> Iterator[LedgerWriter]:
    writer = LedgerWriter(path)
    yield writer
    writer.close()


def small(path: Path, count: int = 4) -> Path:
    """One conversation and a few verdicts."""
    verdicts = [("t-1", passed(f"r{number}")) for number in range(count - 1)]
    return written(path, ("t-1", conversation("t-1")), *verdicts)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def refused(path: Path) -> str:
    with pytest.raises(RunError) as caught:
        list(read_ledger(path))
    return str(caught.value)


FULL = Verdict(
    "safety.no_promise",
    "failed",
    score=0.0,
    reason="the agent says '保证退款'",
    expected="none of '保证退款'",
    evidence=(Evidence(2, "保证\n退款", 7), Evidence(4, 'pay({"a": 1})', part="tool_calls")),
    searched=(2, 4, 6),
    triggered_at=3,
    fault=None,
    details={"votes": [1, 0, 1], "model": "x", "card": 4111111111111111111111},
)


def test_values_are_read_back_whole(path: Path) -> None:
    talk = conversation(
        "t-1",
        "agent_error",
        reason="the agent raised KeyError: 'x'",
        rounds=3,
        turns=6,
        seconds=1.25,
        trace="t-1.jsonl",
        isolated=False,
    )
    recorded = conversation("t-2", recording="data/a.json#3", sha256="ab" * 32, attempt=2)
    written(path, ("t-1", talk), ("t-1", FULL), ("t-2", recorded))
    assert list(read_ledger(path)) == [
        Entry("conversation", "t-1", 1, talk),
        Entry("verdict", "t-1", 1, FULL),
        Entry("conversation", "t-2", 2, recorded),
    ]


texts = st.text().map(clean)
verdicts = st.builds(
    Verdict,
    texts,
    st.sampled_from(["passed", "failed", "not_applicable", "unscored"]),
    score=st.none() | st.floats(0, 1),
    reason=texts,
    evidence=st.lists(st.builds(Evidence, st.integers(1, 99), texts), max_size=2).map(tuple),
    searched=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    triggered_at=st.none() | st.integers(1, 99),
    fault=st.none() | st.sampled_from(OUTCOMES),
    details=st.dictionaries(texts, st.none() | st.integers() | texts, max_size=2),
)


@given(st.lists(st.tuples(texts, verdicts), max_size=5))
def test_any_verdict_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, Verdict]]
) -> None:
    path = written(tmp_path_factory.mktemp("ledger") / "ledger.jsonl", *values)
    assert [(each.trial, each.value) for each in read_ledger(path)] == values


def test_text_that_is_no_unicode_is_cleaned_not_fatal(path: Path) -> None:
    odd = Verdict(
        "r", "failed", reason="\udcff", details={"raw": {"\ud800": [Evidence(1, "\udfff")]}}
    )
    written(path, ("t-1", odd), ("t-1", passed("s")))
    first, second = read_ledger(path)
    assert first.value.reason == "\ufffd"
    assert first.value.details["raw"]["\ufffd"][0]["quote"] == "\ufffd"
    assert second.value == passed("s")


def test_an_empty_ledger_and_one_that_is_not_there(path: Path) -> None:
    written(path)
    assert list(read_ledger(path)) == []
    path.unlink()
    assert refused(path) == f"{path}: the ledger cannot be read: No such file or directory"


def test_a_ledger_is_never_written_over(path: Path) -> None:
    small(path)
    with pytest.raises(RunError, match="cannot be written"):
        LedgerWriter(path)
    assert len(list(read_ledger(path))) == 4


def test_every_line_is_on_disk_at_once(path: Path, writer: LedgerWriter) -> None:
    writer.conversation(conversation("t-1"))
    assert len(list(read_ledger(path))) == 1
    writer.verdict("t-1", passed("r"))
    assert len(list(read_ledger(path))) == 2


def test_a_straggler_after_the_end_is_left_out(path: Path, writer: LedgerWriter) -> None:
    writer.conversation(conversation("t-1"))
    writer.close()
    writer.close()
    writer.verdict("t-1", passed("r"))
    assert len(list(read_ledger(path))) == 1


# ---- the chain


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_changed_line_is_named(path: Path, number: int) -> None:
    kept = lines(small(path))
    kept[number - 1] = kept[number - 1].replace(b'"t-1"', b'"t-2"')
    path.write_bytes(b"".join(kept))
    assert refused(path) == (
        f"{path}:{number}: the ledger was changed after it was written; "
        "nothing in it can be trusted, run again"
    )


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_removed_line_is_named_where_it_is_missing(path: Path, number: int) -> None:
    kept = lines(small(path))
    del kept[number - 1]
    path.write_bytes(b"".join(kept))
    assert refused(path).startswith(f"{path}:{number}: the ledger was changed")


def test_swapped_and_doubled_lines_are_named(path: Path) -> None:
    one, two, three, four = lines(small(path))
    path.write_bytes(one + three + two + four)
    assert refused(path).startswith(f"{path}:2: ")
    path.write_bytes(one + two + two + three + four)
    assert refused(path).startswith(f"{path}:3: ")


def test_a_line_of_another_ledger_is_named(path: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.jsonl", *[("t-1", failed("r0"))] * 3)
    one, two, *_ = lines(small(path))
    path.write_bytes(one + two + lines(other)[2])
    assert refused(path).startswith(f"{path}:3: ")


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"3", b'"entry":', b"\xff", b'{"hash":1}'])
def test_what_is_no_line_of_a_ledger_is_named(path: Path, line: bytes) -> None:
    small(path)
    with path.open("ab") as file:
        file.write(line + b"\n")
    assert refused(path).startswith(f"{path}:5: ")


def test_a_tail_that_was_cut_off_is_left_out(path: Path) -> None:
    content = small(path).read_bytes()
    whole = list(read_ledger(path))
    last = content.rindex(b"\n", 0, -1)
    for size in (*range(0, last, 9), *range(last, len(content))):
        path.write_bytes(content[:size])
        assert list(read_ledger(path)) == whole[: content[:size].count(b"\n")]


CHAINED = b"""\
{"hash":"b4498c4a25cad59e59699dfb4950d8ec","entry":{"kind":"verdict","trial":"t","attempt":1,"value":{"rubric":"r","status":"passed"}}}
{"hash":"631fef8a682d3614e47441c5e9dc26c6","entry":{"kind":"verdict","trial":"t","attempt":1,"value":{"rubric":"s","status":"passed"}}}
"""


def test_a_ledger_made_by_hand(path: Path) -> None:
    # A hash is the BLAKE2b, of 16 bytes, of the hash before it (nothing before the first) and
    # the entry's bytes: `(printf %s "$LAST"; printf %s "$ENTRY") | b2sum -l 128`
    path.write_bytes(CHAINED)
    assert [each.value.rubric for each in read_ledger(path)] == ["r", "s"]


def test_the_ledger_on_its_page_is_one(path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "run-directory.md"
    example = re.search(r"```jsonl\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    path.write_text(example[1], encoding="utf-8")
    talk, verdict = read_ledger(path)
    assert (talk.value.outcome, verdict.value.rubric) == ("completed", "opening.greeting")


@settings(max_examples=400)
@given(data=st.data())
def test_no_byte_of_a_whole_line_can_change(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    content = bytearray(small(path).read_bytes())
    whole = list(read_ledger(path))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    number = bytes(content[:place]).count(b"\n") + 1
    if place == len(content) - 1:  # the last line break: the last line became a cut tail
        assert list(read_ledger(path)) == whole[:-1]
    else:
        assert refused(path).startswith(f"{path}:{number}: ")


@settings(max_examples=200)
@given(data=st.data())
def test_bytes_put_in_or_taken_out_are_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    content = small(path).read_bytes()
    whole = list(read_ledger(path))
    start = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(start, min(len(content), start + 300)))
    put = data.draw(st.binary(max_size=3) | st.sampled_from(lines(path)))
    changed = content[:start] + put + content[end:]
    path.write_bytes(changed)
    if content.startswith(changed):
        assert list(read_ledger(path)) == whole[: changed.count(b"\n")]
    elif changed.startswith(content) and b"\n" not in changed[len(content) :]:
        assert list(read_ledger(path)) == whole
    else:
        try:
            found = list(read_ledger(path))
        except RunError:
            return
        # what is left over is a prefix of what was written, and the rest a tail without an end
        assert changed.startswith(b"".join(lines_of(content)[: len(found)]))
        assert found == whole[: len(found)]
        assert b"\n" not in changed[len(b"".join(lines_of(content)[: len(found)])) :]


def lines_of(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def test_a_ledger_of_another_version_is_refused_in_one_sentence(path: Path) -> None:
    values: tuple[object, ...] = (
        {"kind": "vote", "trial": "t-1", "attempt": 1, "value": {}},
        {"kind": "verdict", "trial": "t-1", "attempt": 1, "value": {"rubric": 3}},
        {"kind": "verdict", "attempt": 1, "value": {"rubric": "r", "status": "passed"}},
        [],
    )
    for value in values:
        path.write_bytes(chained(value))
        assert refused(path) == (
            f"{path}:1: the ledger holds what this version does not know; "
            "read it with the version that the run's manifest.json names"
        )


def chained(value: object) -> bytes:
    body = json.dumps(value).encode()
    link = blake2b(body, digest_size=16).hexdigest()
    return b'{"hash":"%s","entry":%s}\n' % (link.encode(), body)


# ---- writing under trouble


class Disk:
    """A file that takes a part of the next line, then fails."""

    def __init__(self, file: Any, error: BaseException, takes: int = 10) -> None:
        self._file, self._error, self._takes = file, error, takes
        self.fails = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: Any) -> int:
        if not self.fails:
            return int(self._file.write(data))
        if self._takes:
            taken, self._takes = self._takes, 0
            return int(self._file.write(data[:taken]))
        raise self._error


def test_a_full_disk_costs_the_line_alone(
    path: Path, writer: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.conversation(conversation("t-1"))
    disk = Disk(writer._file, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    monkeypatch.setattr(writer, "_file", disk)
    with pytest.raises(RunError, match="No space left on device; free some space"):
        writer.verdict("t-1", passed("lost"))
    assert len(list(read_ledger(path))) == 1
    disk.fails = False
    writer.verdict("t-1", passed("kept"))
    assert [each.value.rubric for each in list(read_ledger(path))[1:]] == ["kept"]
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("takes", [0, 10, 10_000])
def test_ctrl_c_amid_a_line_breaks_no_chain(
    path: Path, writer: LedgerWriter, monkeypatch: pytest.MonkeyPatch, takes: int
) -> None:
    writer.conversation(conversation("t-1"))

    class Interrupted(Disk):
        def write(self, data: Any) -> int:
            super().write(data)
            raise KeyboardInterrupt

    disk = Interrupted(writer._file, KeyboardInterrupt(), takes)
    monkeypatch.setattr(writer, "_file", disk)
    with pytest.raises(KeyboardInterrupt):
        writer.verdict("t-1", passed("r"))
    monkeypatch.undo()
    writer.verdict("t-1", passed("s"))
    assert [each.value.rubric for each in list(read_ledger(path))[1:]] == ["s"]


LIMITED = """
import resource, signal, sys
from pathlib import Path
from pytest_dialeval.errors import RunError
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.ledger import LedgerWriter

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
writer = LedgerWriter(Path(sys.argv[1]))
refused = 0
for number in range(100):
    try:
        verdict = Verdict("r", "passed", score=1.0, reason="x" * (number % 7) * 9)
        writer.verdict(f"t-{number}", verdict)
    except RunError as error:
        refused += 1
        assert "ulimit -f" in str(error), error
print(refused)
"""


def test_a_limit_on_the_file_keeps_whole_lines_up_to_it(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    found = list(read_ledger(path))
    assert len(found) == 100 - int(done.stdout)
    assert 2500 < path.stat().st_size <= 3000


def test_two_threads_write_one_chain(path: Path, writer: LedgerWriter) -> None:
    begin = threading.Barrier(2)

    def write(name: str) -> None:
        begin.wait()
        for number in range(500):
            writer.verdict(f"{name}-{number}", passed("r"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    writer.close()
    found = [each.trial for each in read_ledger(path)]
    assert [each for each in found if each.startswith("a")] == [f"a-{n}" for n in range(500)]
    assert [each for each in found if each.startswith("b")] == [f"b-{n}" for n in range(500)]


ENDLESS = """
import sys
from itertools import count
from pathlib import Path
from pytest_dialeval.records.run import Conversation
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.ledger import LedgerWriter

writer = LedgerWriter(Path(sys.argv[1]))
for number in count():
    writer.conversation(Conversation(f"t-{number}", "completed"))
    writer.verdict(f"t-{number}", Verdict("r", "passed", score=1.0))
    if number == 50:
        print("go", flush=True)
"""


def test_a_killed_process_leaves_whole_lines(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    found = list(read_ledger(path))
    assert len(found) >= 102
    assert [each.trial for each in found[::2]] == [f"t-{n}" for n in range(len(found[::2]))]


# ---- facts


def test_facts_of_a_trial(path: Path) -> None:
    talk = conversation("t-1", "limit_reached")
    written(path, ("t-1", talk), ("t-1", passed("a")), ("t-2", silent("a")), ("t-1", failed("b")))
    assert facts([path]) == {
        "t-1": TrialFacts(talk, {"a": passed("a"), "b": failed("b")}),
        "t-2": TrialFacts(None, {"a": silent("a")}),
    }


def test_the_last_verdict_of_a_rubric_counts(path: Path) -> None:
    written(path, ("t-1", passed("body")), ("t-1", failed("body")))
    assert facts([path])["t-1"].verdicts == {"body": failed("body")}


def test_only_first_attempts_count(path: Path, writer: LedgerWriter) -> None:
    writer.conversation(conversation("t-1", "agent_error"))
    writer.verdict("t-1", failed("a"))
    writer.conversation(conversation("t-1", attempt=2))
    writer.verdict("t-1", passed("a"), 2)
    writer.verdict("t-2", passed("a"), 2)
    assert facts([path]) == {
        "t-1": TrialFacts(conversation("t-1", "agent_error"), {"a": failed("a")})
    }


def two_ledgers(folder: Path, first: Sequence[Verdict], second: Sequence[Verdict]) -> list[Path]:
    """A trial that one worker began and another one held again."""
    return [
        written(
            folder / f"ledger.gw{number}.jsonl",
            ("t-1", conversation("t-1", trace=f"t-1.gw{number}.jsonl")),
            *(("t-1", each) for each in held),
        )
        for number, held in enumerate((first, second))
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_the_fuller_ledger_of_a_trial_counts_whole(tmp_path: Path, turned: bool) -> None:
    fuller = [failed("a"), failed("b")]
    paths = two_ledgers(tmp_path, [passed("a")], fuller)
    found = facts(reversed(paths) if turned else paths)
    assert found["t-1"].verdicts == {"a": failed("a"), "b": failed("b")}
    assert found["t-1"].conversation is not None
    assert found["t-1"].conversation.trace == "t-1.gw1.jsonl"


def test_of_two_that_are_as_full_the_later_counts(tmp_path: Path) -> None:
    paths = two_ledgers(tmp_path, [passed("a")], [unscored("a")])
    assert facts(paths)["t-1"].verdicts == {"a": unscored("a")}


def test_a_broken_ledger_among_others_is_named(tmp_path: Path) -> None:
    paths = two_ledgers(tmp_path, [passed("a")], [passed("a")])
    paths[1].write_bytes(paths[1].read_bytes().replace(b"passed", b"failed"))
    with pytest.raises(RunError, match=r"ledger\.gw1\.jsonl:2: "):
        facts(paths)


# ---- speed


def test_ten_thousand_verdicts_take_less_than_a_second(path: Path, writer: LedgerWriter) -> None:
    verdict = replace(FULL, evidence=FULL.evidence[:1], details={})
    began = time.process_time()
    for number in range(10_000):
        writer.verdict(f"airline.recorded.{number // 4}-1.0123456789", verdict)
    wrote = time.process_time() - began
    began = time.process_time()
    found = facts([path])
    read = time.process_time() - began
    assert len(found) == 2500
    assert wrote < 0.8
    assert read < 0.8


def test_verdicts_of_a_trial_come_in_one_write(
    path: Path, writer: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []

    def write_all(write: Callable[[bytes], int], data: bytes) -> None:
        written.append(data)
        write(data)

    monkeypatch.setattr("pytest_dialeval.runs.ledger.write_all", write_all)
    writer.verdicts("t-1", [passed("r"), failed("s"), passed("t")])
    assert len(written) == 1
    assert [each.value for each in read_ledger(path)] == [passed("r"), failed("s"), passed("t")]


def test_of_verdicts_that_do_not_fit_on_the_disk_none_is_there(
    path: Path, writer: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(write: Callable[[bytes], int], data: bytes) -> None:
        write(data[: len(data) * 2 // 3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    writer.verdict("t-1", passed("r"))
    with monkeypatch.context() as patch:
        patch.setattr("pytest_dialeval.runs.ledger.write_all", half)
        with pytest.raises(RunError, match="No space left"):
            writer.verdicts("t-2", [passed("r"), failed("s")])
    writer.verdicts("t-3", [passed("r"), failed("s")])
    assert [each.trial for each in read_ledger(path)] == ["t-1", "t-3", "t-3"]
