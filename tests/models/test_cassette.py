"""Keys, the file and what becomes of it when workers' parts are taken in."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import RunError, TranscriptError
from pytest_dialeval.models import cassette_file
from pytest_dialeval.models import tape as tape_file
from pytest_dialeval.models.cassette import Cassette, Entry, key, request_of
from pytest_dialeval.models.cassette_file import cassette_path, merge, read_cassette
from pytest_dialeval.models.cassette_lines import SCHEMA, decode_answer, encode_answer, lines_of
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelToolCall
from pytest_dialeval.records.transcript import Usage
from pytest_dialeval.traces.json_bytes import to_json
from pytest_dialeval.traces.redaction import Redaction

from .scripted_chat import SPEC, a_call

OPEN = Redaction({})
TOOLS = ({"type": "function", "function": {"name": "hours", "parameters": {}}},)


def an_entry(call: ChatCall, answer: str | ChatAnswer = "At 9.") -> Entry:
    request = request_of(call, OPEN)
    said = ChatAnswer(answer) if isinstance(answer, str) else answer
    return Entry(request.key, request, said)


def taped(path: Path, *entries: Entry) -> Path:
    tape = Tape(path)
    for entry in entries:
        tape.record(entry)
    tape.close()
    return path


def saved(path: Path, *entries: Entry) -> Path:
    merge(path, [taped(path.with_suffix(".tape"), *entries)])
    path.with_suffix(".tape").unlink()
    return path


def said(path: Path) -> dict[str, str]:
    return {each.request.purpose: each.answer.text for each in read_cassette(path).entries.values()}


@pytest.mark.parametrize(
    "other",
    [
        a_call("Where are you?"),
        a_call(role="user"),
        a_call(model="gpt-4o"),
        a_call(case="hours.clerk.other"),
        a_call(trial=2),
        a_call(purpose="turn 2"),
        a_call(spec=replace(SPEC, endpoint="vllm")),
        a_call(spec=replace(SPEC, temperature=None)),
        a_call(spec=replace(SPEC, temperature=0.5)),
        a_call(spec=replace(SPEC, seed=0)),
        a_call(spec=replace(SPEC, max_tokens=10)),
        replace(a_call(), tools=TOOLS),
        replace(a_call(), schema={"type": "object"}),
        replace(a_call(), messages=a_call().messages[::-1]),
        replace(a_call(), messages=a_call().messages[1:]),
    ],
)
def test_another_question_has_another_key(other: ChatCall) -> None:
    assert key(other, OPEN) != key(a_call(), OPEN)


@pytest.mark.parametrize(
    "same",
    [
        a_call(spec=replace(SPEC, base_url="http://localhost:1/v1")),
        a_call(spec=replace(SPEC, api_key_env="MY_KEY", concurrency=3, tokens_per_minute=9)),
        a_call(spec=replace(SPEC, temperature=0)),
        replace(
            a_call(), messages=tuple(dict(reversed(each.items())) for each in a_call().messages)
        ),
        replace(a_call(), messages=list(a_call().messages)),  # type: ignore[arg-type]
    ],
)
def test_the_road_to_the_model_is_no_part_of_the_key(same: ChatCall) -> None:
    assert key(same, OPEN) == key(a_call(), OPEN)


def test_the_key_does_not_change_between_versions() -> None:
    # Cassettes of users lie in their repositories: a change here voids them all.
    assert key(a_call(), OPEN) == "0edda88ac59a9e61cf20850cb72111c7"
    assert (
        key(replace(a_call(), tools=TOOLS, schema={"type": "object"}), OPEN)
        == "8111ba94ac0769e79386ed69af4dd491"
    )


@given(st.text("0123456789abcdef", min_size=8), st.text("0123456789abcdef", min_size=8))
def test_the_nonce_is_no_part_of_the_key(one: str, two: str) -> None:
    calls = [a_call(f"<data {each}>hello</data {each}>", nonce=each) for each in (one, two)]
    assert key(calls[0], OPEN) == key(calls[1], OPEN)
    assert request_of(calls[0], OPEN).messages[1].value == {
        "role": "user",
        "content": "<data <nonce>>hello</data <nonce>>",
    }


def test_a_secret_is_no_part_of_the_key() -> None:
    hidden = a_call("my key is [redacted OPENAI_API_KEY]")
    told = Redaction({"OPENAI_API_KEY": "sk-0123456789"})
    assert key(a_call("my key is sk-0123456789"), told) == key(hidden, OPEN)


answers = st.builds(
    ChatAnswer,
    text=st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    tool_calls=st.lists(
        st.builds(ModelToolCall, id=st.just("c1"), name=st.just("f"), arguments=st.just('{"a":'))
    ).map(tuple),
    finish=st.sampled_from(["stop", "length", "content_filter"]),
    refusal=st.none() | st.just("I can't"),
    usage=st.builds(Usage, st.none() | st.integers(0, 9), st.none(), st.just(3), st.just(0.25)),
    model=st.just("gpt-4o-mini-2024"),
    seconds=st.none() | st.integers(0, 10_000).map(lambda each: each / 1000),
    tries=st.integers(1, 6),
)


@given(answers)
def test_answers_survive(answer: ChatAnswer) -> None:
    assert decode_answer(json.loads(json.dumps(encode_answer(answer)))) == answer


def test_a_file_holds_what_was_recorded(tmp_path: Path) -> None:
    call = replace(a_call(), tools=TOOLS, schema={"type": "object"})
    answer = ChatAnswer(
        "", (ModelToolCall("c1", "hours", "{"),), "tool_calls", "no", Usage(1, 0, 2)
    )
    entries = [an_entry(call, answer), an_entry(a_call(trial=2))]
    path = saved(tmp_path / "shop.cassette.jsonl", *entries)
    assert read_cassette(path) == Cassette({each.key: each for each in entries})
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_reads_as_it_was_talked_and_says_nothing_twice(tmp_path: Path) -> None:
    first, second = (a_call(purpose=f"turn {number}") for number in (2, 10))
    second = replace(second, messages=(*first.messages, {"role": "user", "content": "Thanks."}))
    path = saved(tmp_path / "c.jsonl", an_entry(second, "Bye."), an_entry(first, "At 9."))
    lines = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {"cassette": 1}
    parts = [each["value"]["content"] for each in lines if "part" in each]
    assert parts == ["You are a clerk.", "When do you open?", "Thanks."]
    assert [each["answer"] for each in lines if "key" in each] == [
        {"text": "At 9."},
        {"text": "Bye."},
    ]
    assert lines[3]["purpose"] == "turn 2"
    assert [len(each["messages"]) for each in lines if "key" in each] == [2, 3]


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)), st.integers(0, 6))
def test_order_and_workers_leave_no_mark(order: list[int], cut: int) -> None:
    entries = [
        an_entry(a_call(f"words {number % 2}", trial=number // 3, purpose=f"turn {number}"))
        for number in range(6)
    ]
    with TemporaryDirectory() as folder:
        base = Path(folder)
        shuffled = [entries[each] for each in order]
        parts = [taped(base / "gw0", *shuffled[:cut]), taped(base / "gw1", *shuffled[cut:])]
        assert merge(base / "a", parts) == 6
        assert merge(base / "b", [taped(base / "one", *entries)]) == 6
        assert (base / "a").read_bytes() == (base / "b").read_bytes()
        assert merge(base / "a", parts) == 6
        assert (base / "a").read_bytes() == (base / "b").read_bytes()


def test_what_a_run_did_not_touch_stays(tmp_path: Path) -> None:
    path = saved(tmp_path / "c", an_entry(a_call()), an_entry(a_call(purpose="turn 2"), "Bye."))
    saved(path, an_entry(a_call(purpose="turn 3"), "Yes."))
    assert said(path) == {"turn 1": "At 9.", "turn 2": "Bye.", "turn 3": "Yes."}


def test_a_new_reply_to_new_words_takes_the_old_ones_place(tmp_path: Path) -> None:
    path = saved(tmp_path / "c", an_entry(a_call("Open?")), an_entry(a_call(model="gpt-4o"), "9."))
    saved(path, an_entry(a_call("Closed?"), "No."))
    texts = sorted(each.answer.text for each in read_cassette(path).entries.values())
    assert texts == ["9.", "No."]


def test_several_calls_for_one_purpose_all_stay(tmp_path: Path) -> None:
    # An agent with tools asks several times in one turn.
    path = saved(tmp_path / "c", an_entry(a_call("Open?")), an_entry(a_call("hours: 9"), "At 9."))
    assert len(read_cassette(path).entries) == 2
    tape = Tape(tmp_path / "tape")
    tape.used(an_entry(a_call("Open?")).key)
    tape.record(an_entry(a_call("hours: 10"), "At 10."))
    tape.close()
    merge(path, [tape.path])
    asked = [each.request.messages[1].value for each in read_cassette(path).entries.values()]
    words = sorted(each["content"] for each in asked)  # type: ignore[index]
    assert words == ["Open?", "hours: 10"]


def test_a_trial_that_is_asked_anew_loses_what_it_had(tmp_path: Path) -> None:
    path = saved(tmp_path / "c", an_entry(a_call()), an_entry(a_call(purpose="turn 2")))
    saved(path, an_entry(a_call(trial=2), "other"))
    tape = Tape(tmp_path / "tape")
    tape.again(("hours.clerk.caller", 1))
    tape.close()
    merge(path, [tape.path])
    assert read_cassette(path).again == {("hours.clerk.caller", 1)}
    assert len(read_cassette(path).entries) == 3
    tape = Tape(tmp_path / "tape2")
    tape.record(an_entry(a_call(), "first attempt"))
    tape.restart(("hours.clerk.caller", 1))
    tape.record(an_entry(a_call("Hello?"), "second attempt"))
    tape.close()
    merge(path, [tape.path])
    assert read_cassette(path).again == set()
    texts = sorted(each.answer.text for each in read_cassette(path).entries.values())
    assert texts == ["other", "second attempt"]


def test_nothing_recorded_nothing_written(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "tape")
    tape.close()
    assert merge(tmp_path / "c", [tape.path, tmp_path / "of a worker that died at once"]) == 0
    assert list(tmp_path.iterdir()) == []
    tape = Tape(tmp_path / "tape")
    tape.used("0" * 32)
    tape.close()
    assert merge(tmp_path / "c", [tape.path]) == 0
    assert not (tmp_path / "c").exists()


def test_a_worker_that_was_killed_loses_half_a_line(tmp_path: Path) -> None:
    part = taped(tmp_path / "gw0", an_entry(a_call()), an_entry(a_call(purpose="turn 2")))
    part.write_bytes(part.read_bytes()[:-5])
    assert merge(tmp_path / "c", [part]) == 1
    assert said(tmp_path / "c") == {"turn 1": "At 9."}


def test_a_reply_may_be_edited_a_request_not(tmp_path: Path) -> None:
    path = saved(tmp_path / "c", an_entry(a_call()))
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("At 9.", "At 10."), encoding="utf-8")
    assert said(path) == {"turn 1": "At 10."}
    path.write_text(whole.replace("When do", "Why do"), encoding="utf-8")
    with pytest.raises(
        TranscriptError, match=r"c:3: was edited: .*; undo the edit .*, or delete the file"
    ):
        read_cassette(path)
    path.write_text(whole.replace("gpt-4o-mini", "gpt-4o"), encoding="utf-8")
    with pytest.raises(TranscriptError, match=r"c:4: was edited"):
        read_cassette(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '{"cassette":1}',
            '{"cassette":2}',
            ":1: is a cassette of schema 2; this version reads schema 1",
        ),
        ('{"cassette":1}', '{"tape":1}', ":1: is no cassette; this version reads schema 1"),
        (
            '{"cassette":1}',
            '<<<<<<< HEAD\n{"cassette":1}',
            ":1: is no JSON object; a merge conflict?",
        ),
        ('{"cassette":1}', '{"cassette":1}\n[]', ":2: is no JSON object"),
        ('"trial":1,', "", ":4: 'trial' is missing"),
        ('"trial":1,', '"trial":"1",', ":4: 'trial' is '1'; it must be a whole number"),
        ('"messages":["', '"messages":["x', ":4: names the part 'x"),
        (
            '"answer":{',
            '"answer":{"usage":{"input_tokens":"3"},',
            "'input_tokens' is '3'; it must be a",
        ),
        ('"answer":{', '"answer":{"tool_calls":[3],', "3 stands where an object with 'id' belongs"),
        ('"answer":{', '"answer":3,"a":{', "'answer' is 3; it must be an object"),
        ('"text":"At 9."}}\n', '"text":"At 9."}}', ":4: is cut off"),
    ],
)
def test_a_damaged_file_is_refused_by_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = saved(tmp_path / "c", an_entry(a_call()))
    whole = path.read_text(encoding="utf-8")
    assert whole.count(old) == 1
    path.write_text(whole.replace(old, new), encoding="utf-8")
    with pytest.raises(TranscriptError) as caught:
        read_cassette(path)
    assert str(caught.value).startswith(f"{path}:") and message in str(caught.value)


def test_two_cassettes_joined_by_a_merge_of_lines(tmp_path: Path) -> None:
    one = saved(tmp_path / "one", an_entry(a_call()))
    two = saved(tmp_path / "two", an_entry(a_call(purpose="turn 2"), "Bye."))
    both = one.read_text(encoding="utf-8") + two.read_text(encoding="utf-8")
    lines = both.splitlines(keepends=True)
    both = "".join([lines[0], *lines[:0:-1]])  # in whatever order
    one.write_text(both, encoding="utf-8")
    assert said(one) == {"turn 1": "At 9.", "turn 2": "Bye."}


def test_two_runs_that_record_at_once_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c"
    parts = [taped(tmp_path / f"run{trial}", an_entry(a_call(trial=trial))) for trial in (1, 2)]
    other = threading.Thread(target=merge, args=(path, parts[1:]))
    replace_file = cassette_file._replace

    def slowly(path: Path, data: bytes) -> None:
        if threading.current_thread() is not other:
            other.start()
            other.join(0.2)  # it can only wait
        replace_file(path, data)

    monkeypatch.setattr(cassette_file, "_replace", slowly)
    merge(path, parts[:1])
    other.join()
    assert len(read_cassette(path).entries) == 2


def test_a_full_disk_leaves_the_cassette_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "c", an_entry(a_call()))
    whole = path.read_bytes()
    part = taped(tmp_path / "tape", an_entry(a_call(trial=2)))

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RunError, match="No space left"):
        merge(path, [part])
    assert path.read_bytes() == whole
    assert sorted(each.name for each in tmp_path.iterdir()) == ["c", "tape"]


def test_a_full_disk_leaves_whole_lines_in_the_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = Tape(tmp_path / "tape")
    tape.record(an_entry(a_call()))
    write, sizes = tape_file.os.write, iter([10])

    def full(file: int, data: bytes) -> int:
        if (size := next(sizes, None)) is None:
            raise OSError(28, "No space left on device")
        return write(file, data[:size])

    with monkeypatch.context() as patch:
        patch.setattr(tape_file.os, "write", full)
        with pytest.raises(RunError, match="No space left"):
            tape.record(an_entry(a_call("Other words", trial=2)))
    tape.record(an_entry(a_call("Other words", trial=3)))
    tape.close()
    assert merge(tmp_path / "c", [tape.path]) == 2


def test_a_part_that_another_run_writes_is_left_alone(tmp_path: Path) -> None:
    part = taped(tmp_path / "tape", an_entry(a_call()))
    whole = part.read_bytes()
    with pytest.raises(RunError, match="tape: another run records here"):
        Tape(part).record(an_entry(a_call(trial=2)))
    assert part.read_bytes() == whole


@pytest.mark.parametrize(
    ("suite", "cassette"),
    [("shop.dialeval.yaml", "shop.cassette.jsonl"), ("a.b.dialeval.yaml", "a.b.cassette.jsonl")],
)
def test_it_lies_beside_its_suite(suite: str, cassette: str) -> None:
    assert cassette_path(Path("suites") / suite) == Path("suites") / cassette


SPICE = [b"", b"{", b"}", b"[", b'"', b":", b",", b"\n", b"null", b"-1", b"1e999", b"\x00", b"\xff"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(SPICE)), min_size=1),
    st.booleans(),
)
def test_any_damage_is_refused_by_line_or_does_none(
    changes: list[tuple[float, int, bytes]], swap: bool
) -> None:
    call = replace(a_call(), tools=TOOLS, schema={"type": "object"})
    answer = ChatAnswer("", (ModelToolCall("c1", "hours", "{"),), "stop", "no", Usage(1, 0, 2))
    entry = an_entry(call, answer)
    data = b"".join(to_json(each) + b"\n" for each in lines_of(Cassette({entry.key: entry})))
    for place, size, odd in changes:
        at = int(place * len(data))
        data = data[:at] + odd + data[at + size :]
    if swap:
        data = b"\n".join(reversed(data.split(b"\n")))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        path.write_bytes(data)
        try:
            found = read_cassette(path)
        except TranscriptError as error:
            assert str(error).startswith(f"{path}:")
        else:
            assert all(each.key == name for name, each in found.entries.items())
            list(lines_of(found))


def test_an_editors_mark_at_the_beginning_is_read_over(tmp_path: Path) -> None:
    path = tmp_path / "shop.cassette.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"cassette":%d}\n' % SCHEMA)
    assert read_cassette(path).entries == {}
