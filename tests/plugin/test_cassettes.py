"""Replies recorded beside a suite, and replayed: without a model, whatever runs in what order."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.models.cassette_file import read_cassette
from pytest_dialeval.plugin.calling import merge_tapes, tape_name
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.grader import Grader
from tests.models.scripted_chat import a_call
from tests.models.test_cassette import an_entry, taped
from tests.runs.samples import source

from .conftest import Shop, persona, rubric
from .played import CLIENT, JUDGE, calls, forget, judged, play, verdicts

RUBRICS = [judged("greet"), judged("never", "tractor"), judged("vague", "why?"), rubric("rule")]
FUNCTION = """
from pytest_dialeval import dialogue_case

@dialogue_case("shop.dialeval.yaml", rubrics=["greet"])
def test_body(dialogue):
    dialogue.expect.judge('the agent says "stock"')
"""


def cassette(shop: Shop, name: str = "shop") -> Path:
    return shop.path / f"{name}.cassette.jsonl"


def recorded(shop: Shop, name: str = "shop") -> list[str]:
    """What each stored reply answers."""
    entries = read_cassette(cassette(shop, name)).entries.values()
    return sorted(f"{e.request.case}-{e.request.trial}: {e.request.purpose}" for e in entries)


def many(shop: Shop) -> None:
    """Two personas, three trials, three judged rubrics: 18 replies."""
    people = [persona("one"), persona("two", "Is the lamp in stock?", "A discount?")]
    play(shop, personas=people, rubrics=RUBRICS, trials=3)


def record(shop: Shop, mode: str = "new", *arguments: str) -> pytest.RunResult:
    return shop.run(f"--dialeval-record={mode}", *arguments)


def lose_the_model(shop: Shop) -> None:
    """From now on the judge could not even be loaded."""
    forget(shop)
    shop.write("client.py", "raise RuntimeError('nobody may ask')\n")


def without_times(summary: Any) -> Any:
    """All of a summary that does not name the run, its moment or how it was asked for."""
    left_out = ("run_id", "created", "settings")
    kept = {name: value for name, value in summary.items() if name not in left_out}
    return json.loads(json.dumps(kept))


# ---- modes


def test_without_a_cassette_nothing_is_recorded(shop: Shop) -> None:
    play(shop)
    assert shop.run().ret == 0
    assert len(calls(shop)) == 1
    assert not cassette(shop).exists()


def test_recorded_once_it_is_replayed(shop: Shop) -> None:
    play(shop)
    result = record(shop)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["shop.cassette.jsonl: 1 reply recorded"])
    assert recorded(shop) == ["shop.clerk.buyer-1: rubric greet, vote 1"]
    lose_the_model(shop)
    result = shop.run()
    assert result.ret == 0
    assert calls(shop) == []
    result.stdout.fnmatch_lines([f"judge ({JUDGE}): 1 replayed from a cassette"])
    result.stdout.no_fnmatch_line("*recorded")


def test_off_asks_in_spite_of_a_cassette(shop: Shop) -> None:
    play(shop)
    record(shop)
    before = cassette(shop).read_bytes()
    forget(shop)
    assert record(shop, "off").ret == 0
    assert len(calls(shop)) == 1
    assert cassette(shop).read_bytes() == before


def test_none_without_a_cassette_is_a_miss(shop: Shop) -> None:
    play(shop)
    result = record(shop, "none")
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [
            "unmeasured: shop.cassette.jsonl has no reply for judge, rubric greet, vote 1*",
            "*to record it: --dialeval-record=new*",
        ]
    )
    assert calls(shop) == []


def test_new_asks_for_what_is_missing_alone(shop: Shop) -> None:
    play(shop)
    record(shop)
    forget(shop)
    play(shop, rubrics=[judged("greet"), judged("stock", "stock")])
    assert record(shop).ret == 0
    assert [each[-1] for each in calls(shop)] == ["rubric stock, vote 1"]
    assert len(recorded(shop)) == 2


@pytest.mark.parametrize("habit", ["once", "new_episodes"])
def test_words_of_other_tools(shop: Shop, habit: str) -> None:
    play(shop)
    assert record(shop, habit).ret == 0
    assert shop.summary["settings"]["record"]["value"] == "new"
    assert cassette(shop).exists()


def test_all_asks_again_for_everything(shop: Shop) -> None:
    play(shop)
    record(shop)
    forget(shop)
    shop.write("client.py", CLIENT.replace('"reasoning": "read"', '"reasoning": "read anew"'))
    assert record(shop, "all").ret == 0
    assert len(calls(shop)) == 1
    assert "read anew" in cassette(shop).read_text(encoding="utf-8")
    assert len(recorded(shop)) == 1


def test_all_of_a_selection_leaves_the_other_trials(shop: Shop) -> None:
    many(shop)
    record(shop)
    forget(shop)
    record(shop, "all", "-k", "one-1")
    assert len(calls(shop)) == 3
    assert len(recorded(shop)) == 18


def test_a_wrong_mode(shop: Shop) -> None:
    play(shop)
    result = record(shop, "nwe")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dialeval-record: 'nwe' is no way to record; did you mean*"])


# ---- a miss


def test_a_miss_shows_the_nearest_call_and_what_differs(shop: Shop) -> None:
    play(shop)
    record(shop)
    lose_the_model(shop)
    shop.suite(models={"judge": JUDGE}, rubrics=[judged("greet", "Good morning")])
    result = shop.run()
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [
            "unmeasured: *no reply for judge, rubric greet*; the nearest is judge, rubric greet*",
            "*what differs: messages*",
            '*-the agent says "Hello"*',
            '*+the agent says "Good morning"*',
        ]
    )


# ---- the same verdicts, however it runs


@pytest.fixture
def shelf(shop: Shop) -> tuple[dict[str, Verdict], Any]:
    """A recorded suite whose model is lost: verdicts and summary of a plain replay."""
    many(shop)
    assert record(shop).ret == 1
    assert len(recorded(shop)) == 18
    lose_the_model(shop)
    shop.run()
    return verdicts(shop), without_times(shop.summary)


OTHER = "python:client.py:other:fake-2"
Shelf = tuple[dict[str, Verdict], Any]
REVERSED = "def pytest_collection_modifyitems(items): items.reverse()\n"


def test_replayed_with_any_concurrency(shop: Shop, shelf: Shelf) -> None:
    for number in (1, 16):
        shop.run(f"--dialeval-concurrency={number}")
        assert (verdicts(shop), without_times(shop.summary)) == shelf
    assert len(shelf[0]) == 24
    assert {each.status for each in shelf[0].values()} == {"passed", "failed", "unscored"}


def test_replayed_in_another_order(shop: Shop, shelf: Shelf) -> None:
    shop.write("conftest.py", REVERSED)
    shop.run()
    assert (verdicts(shop), without_times(shop.summary)) == shelf


@pytest.mark.slow
def test_replayed_at_random(shop: Shop, shelf: Shelf) -> None:
    if find_spec("pytest_randomly") is None:
        pytest.skip("pytest-randomly is not installed")
    for seed in (1, 2):
        options = ("-p", "dialeval", "-p", "pytest_randomly", f"--randomly-seed={seed}")
        result = shop.pytester.runpytest_subprocess(*options)
        result.stdout.fnmatch_lines([f"Using --randomly-seed={seed}"])
        assert (verdicts(shop), without_times(shop.summary)) == shelf
    assert len(shop.runs) == 4


def test_a_selection_replays_its_own_replies(shop: Shop, shelf: Shelf) -> None:
    shop.run("-k", "two and greet")
    mine = verdicts(shop)
    assert len(mine) == 3
    assert all(shelf[0][each] == verdict for each, verdict in mine.items())
    assert shop.summary["usage"][0]["replayed"] == 3


def test_lf_replays_what_failed(shop: Shop, shelf: Shelf) -> None:
    result = shop.run("--lf")
    result.assert_outcomes(failed=6, errors=6)
    mine = verdicts(shop)
    assert mine == {each: shelf[0][each] for each in mine}


TIMED = """
import json
import re

from pytest_dialeval.records.model import ChatAnswer


class Judge:
    async def chat(self, call, *, deadline):
        ran = re.search(r"Ran 3 tests in [0-9.]+s", call.messages[-1]["content"])[0]
        quote = {"turn_id": 2, "quote": ran}
        reply = {"reasoning": "it did", "verdict": "met", "evidence": [quote], "absence": False}
        return ChatAnswer(json.dumps(reply))


judge = Judge()
"""


def test_work_is_replayed_though_its_tests_take_other_times_elsewhere(shop: Shop) -> None:
    shop.write("client.py", TIMED)
    shop.write(
        "repo/tests.py",
        "import os, time\n"
        "print(f'Ran 3 tests in 0.{time.perf_counter_ns()}s in', os.getcwd(), object())\n",
    )
    shop.write("worker.yaml", "replies:\n  - {say: I ran them., run: python tests.py}\n")
    shop.suite(
        task={
            "id": "work",
            "max_rounds": 1,
            "rounds": {"request": "Run them."},
            "workspace": "repo",
        },
        agents={"worker": {"use": "scripted", "script": "worker.yaml"}},
        personas=None,
        models={"judge": JUDGE},
        rubrics=[{"id": "ran", "dimension": "completion", "judge": "the agent ran the tests"}],
    )
    assert record(shop, "all").ret == 0
    forget(shop)

    lose_the_model(shop)
    assert record(shop, "none").ret == 0

    [said, [verdict]] = [shop.traces()[0], list(verdicts(shop).values())]
    [output] = [each["tool_calls"][0]["result"] for each in said if each.get("tool_calls")]
    assert verdict.evidence[0].quote in output  # the run's own words, not the recorded ones


def test_a_user_that_a_model_plays_is_replayed_too(shop: Shop) -> None:
    play(shop, models={"user": OTHER, "judge": JUDGE}, rubrics=RUBRICS, trials=3)
    record(shop)
    before, figures = verdicts(shop), without_times(shop.summary)
    told = [[each.get("text") for each in trace] for trace in shop.traces()]
    assert any("I ask for time 2?" in str(each) for each in told)
    lose_the_model(shop)
    for number in (1, 16):
        shop.run(f"--dialeval-concurrency={number}")
        assert verdicts(shop) == before
        assert [[each.get("text") for each in trace] for trace in shop.traces()] == told
    after = without_times(shop.summary)
    assert all(each["calls"] == 0 and each["replayed"] for each in after["usage"])
    for each in (figures, after):
        del each["usage"]
    assert after == figures


@pytest.mark.slow
def test_replayed_by_two_workers(shop: Shop, shelf: Shelf) -> None:
    shop.pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "-p", "dialeval")
    assert (verdicts(shop), without_times(shop.summary)) == shelf


@pytest.mark.slow
def test_two_workers_record_what_one_does(shop: Shop) -> None:
    many(shop)
    record(shop)
    alone = cassette(shop).read_bytes()
    cassette(shop).unlink()
    shop.pytester.runpytest_subprocess(
        "-p", "xdist", "-n", "2", "-p", "dialeval", "--dialeval-record=new"
    )
    assert cassette(shop).read_bytes() == alone


# ---- unmeasured by its replies


def test_a_trial_left_unmeasured_by_its_replies_is_asked_again(shop: Shop) -> None:
    play(shop, rubrics=[judged("greet"), judged("vague", "why?")])
    record(shop)
    assert [trial for _, trial in read_cassette(cassette(shop)).again] == [1]
    forget(shop)
    assert shop.run().ret == 10  # replayed: unmeasured again, and nobody is asked
    assert calls(shop) == []
    shop.write("client.py", CLIENT.replace('word.endswith("?")', "False"))
    record(shop)
    assert len(calls(shop)) == 2
    assert read_cassette(cassette(shop)).again == set()
    forget(shop)
    assert shop.run().ret == 1  # measured by now: the agent never says it


def test_so_is_one_whose_user_had_nothing_to_say(shop: Shop) -> None:
    silent = persona("one")
    silent["script"]["states"] = {"start": {"goal": "ask for the lamp"}}
    play(shop, models={"user": OTHER, "judge": JUDGE}, personas=[silent])
    mute = CLIENT.replace('f"Is the lamp in stock, I ask for time {number}?"', '""')
    assert mute != CLIENT
    shop.write("client.py", mute)
    assert record(shop).ret == 10
    assert shop.summary["outcomes"]["simulator_error"] == 1
    assert [trial for _, trial in read_cassette(cassette(shop)).again] == [1]
    forget(shop)
    assert shop.run().ret == 10
    assert calls(shop) == []
    shop.write("client.py", CLIENT)
    assert record(shop).ret == 0
    assert read_cassette(cassette(shop)).again == set()
    forget(shop)
    assert shop.run().ret == 0


def test_the_last_trial_is_not_forgotten_when_the_run_ends_first(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Grader.finish

    def late(self: Grader, *args: Any) -> None:
        time.sleep(0.2)  # the item has its verdict, and the run is closing
        finish(self, *args)

    monkeypatch.setattr(Grader, "finish", late)
    play(shop, rubrics=[judged("vague", "why?")])
    record(shop)
    assert [trial for _, trial in read_cassette(cassette(shop)).again] == [1]


def test_so_is_one_whose_body_could_not_be_told(shop: Shop) -> None:
    play(shop, rubrics=[])
    body = FUNCTION.replace(', rubrics=["greet"]', "").replace("stock", "why?")
    shop.write("test_body.py", body)
    assert record(shop, "new", "test_body.py").ret == 10
    assert [trial for _, trial in read_cassette(cassette(shop)).again] == [1]
    forget(shop)
    assert shop.run("test_body.py").ret == 10
    assert calls(shop) == []
    record(shop, "new", "test_body.py")
    assert len(calls(shop)) == 1


# ---- two sources, two suites


def test_a_suite_and_a_function_on_it_share_a_cassette(shop: Shop) -> None:
    play(shop)
    shop.write("test_body.py", FUNCTION)
    assert record(shop).ret == 0
    asked = [each[-1] for each in calls(shop)]
    assert set(asked) == {"rubric expect.judge, vote 1", "rubric greet, vote 1"}
    assert len(recorded(shop)) == 2
    lose_the_model(shop)
    shop.run().assert_outcomes(passed=3)
    shop.run("test_body.py").assert_outcomes(passed=2)
    shop.run("shop.dialeval.yaml").assert_outcomes(passed=1)


def test_each_suite_has_its_own(shop: Shop) -> None:
    play(shop)
    play(shop, "other", task={"id": "other", "max_rounds": 4})
    assert record(shop).ret == 0
    assert len(recorded(shop)) == len(recorded(shop, "other")) == 1
    cassette(shop, "other").unlink()
    forget(shop)
    assert shop.run().ret == 0  # one replays, the other asks
    assert [each[2] for each in calls(shop)] == ["other.clerk.buyer"]


def test_what_the_tenth_worker_recorded_stands_against_the_ninth(tmp_path: Path) -> None:
    run, suite = RunDirectory(tmp_path / "run"), "shop.dialeval.yaml"
    for worker, words in (("gw9", "When?"), ("gw10", "Where?")):  # one trial, held twice
        taped(run.path / "tapes" / f"{tape_name(suite)}.{worker}.jsonl", an_entry(a_call(words)))
    [(told, kept)] = merge_tapes(run, [source([], [], suite=suite)], tmp_path)
    assert kept, told
    entries = read_cassette(tmp_path / "shop.cassette.jsonl").entries
    assert list(entries) == [an_entry(a_call("Where?")).key]


# ---- what cannot be read or written


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'{"cassette":1}\n', b'<<<<<<< HEAD\n{"cassette":1}\n', "*:1: *a merge conflict?*"),
        (b'{"cassette":1}\n', b'{"cassette":0}\n', "*:1: is a cassette of schema 0; *anew"),
        (b"}\n", b"}", "*: is cut off; *"),
        (b'"fake-1"', b'"fake-2"', "*: was edited*"),
    ],
)
@pytest.mark.parametrize("mode", ["none", "new"])
def test_a_broken_cassette_is_one_line(
    shop: Shop, old: bytes, new: bytes, message: str, mode: str
) -> None:
    play(shop, trials=3)
    record(shop)
    head, _, tail = cassette(shop).read_bytes().rpartition(old)
    cassette(shop).write_bytes(head + new + tail)
    result = record(shop, mode)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [each for each in result.errlines + result.outlines if "cassette.jsonl" in each]
    assert line.startswith("ERROR: shop.cassette.jsonl:")
    result.stderr.fnmatch_lines([message])
    assert len(shop.runs) == 1


def test_a_broken_cassette_is_no_matter_where_it_is_not_read(shop: Shop) -> None:
    play(shop)
    cassette(shop).write_text("nothing\n", encoding="utf-8")
    assert record(shop, "off").ret == 0
    assert shop.run("--collect-only").ret == 0
    assert shop.run("--dialeval-no-judge").ret == 0


def test_a_cassette_that_cannot_be_written_is_said_in_red(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(shop)

    write = Path.write_bytes

    def refuse(path: Path, data: bytes) -> int:
        if ".cassette.jsonl." in path.name:
            raise PermissionError(errno.EACCES, "Permission denied")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", refuse)
    result = record(shop, "new", "--color=yes")
    assert result.ret == 0  # the verdicts stand
    [line] = [each for each in result.outlines if "what was recorded stays in" in each]
    assert line.startswith(
        "\x1b[31mshop.cassette.jsonl: cannot be written: Permission denied; "
        "make the suite's folder one that can be written, and record again; "
    )
    assert len(list((shop.last_run / "tapes").glob("*.jsonl"))) == 1
    assert not cassette(shop).exists()


# ---- stopped in the middle


@pytest.fixture
def recording(shop: Shop) -> Iterator[subprocess.Popen[bytes]]:
    """A run that records, and whose judge hangs from its fourth call on."""
    play(shop, trials=8)
    shop.write(
        "client.py",
        CLIENT.replace(
            "        return ChatAnswer(",
            '        if len((HERE / "calls.jsonl").read_text().splitlines()) > 3:\n'
            "            await asyncio.sleep(600)\n"
            "        return ChatAnswer(",
            1,
        ),
    )
    options = ["-p", "dialeval", "--dialeval-record=new", "--dialeval-concurrency=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options],
        cwd=shop.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        for _ in range(600):
            if len(calls(shop)) > 3:
                break
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_recorded(shop: Shop, recording: subprocess.Popen[bytes]) -> None:
    recording.send_signal(signal.SIGINT)
    output, _ = recording.communicate(timeout=30)
    assert recording.returncode == 2, output.decode()
    assert len(recorded(shop)) == 3
    shop.write("client.py", CLIENT)
    forget(shop)
    assert record(shop).ret == 0
    assert len(calls(shop)) == 5
    assert len(recorded(shop)) == 8


@pytest.mark.slow
def test_a_kill_leaves_the_cassette_as_it_was(
    shop: Shop, recording: subprocess.Popen[bytes]
) -> None:
    recording.kill()
    recording.communicate(timeout=30)
    assert not cassette(shop).exists()
    [run] = shop.runs
    [tape] = (run / "tapes").glob("*.jsonl")
    kept = tape.read_text(encoding="utf-8").splitlines()
    assert sum('"key"' in each for each in kept) == 3
    shop.write("client.py", CLIENT)
    assert record(shop).ret == 0
    assert len(recorded(shop)) == 8


# ---- secrets


def test_a_secret_of_the_environment_reaches_no_file(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-planted-7f3a9c51d2"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    monkeypatch.setenv("MY_OWN", secret[::-1])
    shop.write("clerk.yaml", f'otherwise: ["Hello! My key is {secret}, yours {secret[::-1]}."]\n')
    play(shop, models={"judge": {"model": JUDGE, "api_key_env": "MY_OWN"}})
    shop.write("client.py", CLIENT.replace('"read"', f'"it told {secret} and {secret[::-1]}"'))
    assert record(shop).ret == 0
    files = [each for each in (shop.path / ".dialeval").rglob("*") if each.is_file()]
    files.append(cassette(shop))
    assert len(files) > 5
    for each in files:
        data = each.read_text(encoding="utf-8")
        assert secret not in data, each
        assert secret[::-1] not in data, each
    assert "[redacted OPENAI_API_KEY]" in cassette(shop).read_text(encoding="utf-8")
    assert "[redacted MY_OWN]" in cassette(shop).read_text(encoding="utf-8")
    assert shop.run().ret == 0  # redacted alike, it is found again
