"""Record, replay, miss: which calls reach a model, and what is kept of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import CassetteMiss, HarnessFault, NotMeasured, ProviderFault
from pytest_dialeval.models.cassette_file import merge, read_cassette
from pytest_dialeval.models.recorder import Mode, Recorder, default_mode, read_mode
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.models.usage import UsageSink
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.traces.redaction import Redaction

from .scripted_chat import SPEC, USAGE, ScriptedChat, a_call, ask

SECRET = "sk-0123456789abcdef"
HIDDEN = Redaction({"OPENAI_API_KEY": SECRET})
CASE = "hours.clerk.caller"


class Suite:
    """A cassette, and runs that use it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "shop.cassette.jsonl"
        self.sink = UsageSink()

    def recorder(self, mode: Mode, inner: ScriptedChat | None, tape: Tape | None) -> Recorder:
        return Recorder(
            inner,
            read_cassette(self.path),
            mode,
            name=self.path.name,
            redaction=HIDDEN,
            tape=tape,
            sink=self.sink,
        )

    def run(
        self,
        mode: Mode,
        calls: list[ChatCall],
        *script: ChatAnswer | str,
        unmeasured: int | None = None,
    ) -> tuple[list[ChatAnswer], list[str]]:
        """What was answered, and for which purposes a model was asked."""
        tape = Tape(self.path.with_name("tape"))
        model = ScriptedChat(*script) if script else None
        recorder = self.recorder(mode, model, tape if mode in ("new", "all") else None)
        answers = ask(recorder, calls)
        if unmeasured is not None:
            recorder.forget(CASE, unmeasured)
        tape.close()
        merge(self.path, [tape.path])
        tape.path.unlink(missing_ok=True)
        return answers, [each.purpose for each in model.calls] if model else []


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def turns(*numbers: int, trial: int = 1, words: str = "Hi") -> list[ChatCall]:
    return [a_call(f"{words} {each}", trial=trial, purpose=f"turn {each}") for each in numbers]


def test_recorded_once_replayed_without_a_model(suite: Suite) -> None:
    first, asked = suite.run("new", turns(1, 2), "one", "two")
    assert [each.text for each in first] == ["one", "two"]
    assert asked == ["turn 1", "turn 2"]
    again, _ = suite.run("none", turns(2, 1, 1))
    assert again == [first[1], first[0], first[0]]


def test_the_road_that_a_reply_took_is_replayed_too(suite: Suite) -> None:
    said = ChatAnswer(
        "", finish="length", refusal="no", usage=USAGE, model="m", seconds=1.23456, tries=3
    )
    [recorded], _ = suite.run("new", turns(1), said)
    assert recorded == replace(said, seconds=1.2346)
    assert suite.run("none", turns(1))[0] == [recorded]


def test_new_asks_for_what_is_missing_alone(suite: Suite) -> None:
    suite.run("new", turns(1), "one")
    answers, asked = suite.run("new", turns(1, 2), "two")
    assert [each.text for each in answers] == ["one", "two"]
    assert asked == ["turn 2"]
    assert suite.sink.total().replayed == 1


def test_all_asks_for_everything_anew(suite: Suite) -> None:
    suite.run("new", turns(1, 2), "one", "two")
    answers, asked = suite.run("all", turns(1), "1")
    assert ([each.text for each in answers], asked) == (["1"], ["turn 1"])
    assert [each.text for each in suite.run("none", turns(1, 2))[0]] == ["1", "two"]


def test_off_neither_reads_nor_writes(suite: Suite) -> None:
    suite.run("new", turns(1), "one")
    before = suite.path.read_bytes()
    answers, asked = suite.run("off", turns(1, 2), f"said {SECRET}")
    assert [each.text for each in answers] == [f"said {SECRET}"] * 2
    assert asked == ["turn 1", "turn 2"]
    assert suite.path.read_bytes() == before


def test_the_deadline_reaches_the_model(suite: Suite) -> None:
    model = ScriptedChat("one")
    asyncio.run(suite.recorder("off", model, None).chat(a_call(), deadline=7))
    assert model.deadlines == [7]


def test_a_failed_call_is_never_recorded(suite: Suite) -> None:
    tape = Tape(suite.path.with_name("tape"))
    model = ScriptedChat(ProviderFault("503", status=503), "at last")
    recorder = suite.recorder("new", model, tape)
    with pytest.raises(ProviderFault):
        ask(recorder, turns(1))
    assert not tape.path.exists()
    assert ask(recorder, turns(1))[0].text == "at last"
    tape.close()
    assert merge(suite.path, [tape.path]) == 1


def test_a_cancelled_call_is_never_recorded(suite: Suite) -> None:
    tape = Tape(suite.path.with_name("tape"))
    model = ScriptedChat("too late")
    recorder = suite.recorder("new", model, tape)

    async def cut() -> None:
        model.gate = asyncio.Event()
        task = asyncio.create_task(recorder.chat(a_call(), deadline=5))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut())
    assert model.calls and not tape.path.exists()


def test_who_asks_the_same_at_once_gets_the_same(suite: Suite) -> None:
    tape = Tape(suite.path.with_name("tape"))
    recorder = suite.recorder("new", ScriptedChat("one", "two"), tape)

    async def both() -> list[ChatAnswer]:
        return await asyncio.gather(*(recorder.chat(a_call(), deadline=5) for _ in "12"))

    first, second = asyncio.run(both())
    assert first == second == ask(recorder, [a_call()])[0]
    tape.close()
    merge(suite.path, [tape.path])
    assert suite.run("none", [a_call()])[0] == [first]


def test_a_secret_reaches_neither_file_nor_run(suite: Suite) -> None:
    spoken = [a_call(f"the key is {SECRET}"), a_call(f"{SECRET}?", purpose="turn 2")]
    answers, _ = suite.run("new", spoken, f"I repeat: {SECRET}")
    assert answers[0].text == "I repeat: [redacted OPENAI_API_KEY]"
    assert SECRET not in suite.path.read_text(encoding="utf-8")
    # Where it is replayed there is no key, and so nothing that would be redacted.
    lines = [a_call("the key is [redacted OPENAI_API_KEY]")]
    bare = Recorder(None, read_cassette(suite.path), "none", name="c", redaction=Redaction({}))
    assert ask(bare, lines) == [answers[0]]


def test_a_nonce_that_the_model_repeats_makes_no_later_call_another(suite: Suite) -> None:
    def talk(mode: Mode, nonces: tuple[str, str], *script: str) -> list[str]:
        first = a_call(f"<{nonces[0]}>", nonce=nonces[0])
        [answer], _ = suite.run(mode, [first], *script[:1])
        again = a_call(f"<{nonces[1]}> you said {answer.text}", purpose="re-ask", nonce=nonces[1])
        return [answer.text, suite.run(mode, [again], *script[1:])[0][0].text]

    recorded = talk("new", ("n0n1", "n0n2"), "in <n0n1> it says", "met")
    assert recorded == ["in <<nonce>> it says", "met"]
    assert talk("none", ("n0n3", "n0n4")) == recorded


def test_a_trial_that_ended_unmeasured_is_replayed_by_none_and_asked_anew_by_new(
    suite: Suite,
) -> None:
    calls = [*turns(1, 2), *turns(1, trial=2)]
    suite.run("new", calls, "one", "two", "other", unmeasured=1)
    assert [each.text for each in suite.run("none", calls)[0]] == ["one", "two", "other"]
    answers, asked = suite.run("new", calls, "1", "2")
    assert [each.text for each in answers] == ["1", "2", "other"]
    assert asked == ["turn 1", "turn 2"]
    assert [each.text for each in suite.run("new", calls)[0]] == ["1", "2", "other"]


def test_a_trial_that_ended_unmeasured_again_is_asked_once_more(suite: Suite) -> None:
    suite.run("new", turns(1), "one", unmeasured=1)
    suite.run("new", turns(1), "two", unmeasured=1)
    assert suite.run("new", turns(1), "three")[1] == ["turn 1"]
    assert suite.run("new", turns(1))[0][0].text == "three"


def test_all_clears_the_mark_of_a_trial_that_it_measured(suite: Suite) -> None:
    suite.run("new", turns(1), "one", unmeasured=1)
    suite.run("all", turns(1), "two")
    assert suite.run("new", turns(1))[0][0].text == "two"


def test_a_trial_that_is_held_again_in_the_run_is_asked_anew(suite: Suite) -> None:
    tape = Tape(suite.path.with_name("tape"))
    recorder = suite.recorder("new", ScriptedChat("one", "two", "three"), tape)
    assert ask(recorder, turns(1, 2))[1].text == "two"
    recorder.forget(CASE, 1)
    assert ask(recorder, turns(1, 1))[1].text == "three"
    tape.close()
    merge(suite.path, [tape.path])
    assert [each.answer.text for each in read_cassette(suite.path).entries.values()] == ["three"]
    assert not read_cassette(suite.path).again


def test_a_replayed_trial_that_ends_unmeasured_is_not_replayed_again(suite: Suite) -> None:
    suite.run("new", turns(1), "one")
    tape = Tape(suite.path.with_name("tape"))
    recorder = suite.recorder("new", ScriptedChat("two"), tape)
    assert ask(recorder, turns(1))[0].text == "one"
    recorder.forget(CASE, 1)
    assert ask(recorder, turns(1))[0].text == "two"
    tape.close()
    merge(suite.path, [tape.path])
    assert suite.run("none", turns(1))[0][0].text == "two"


def test_an_agent_with_tools_asks_twice_in_a_turn_and_both_stay(suite: Suite) -> None:
    first, second, other = (a_call(each) for each in ("Hi", "hours: 9", "hours: 10"))
    suite.run("new", [first, second], "one", "two")
    assert suite.run("new", [first, other], "three")[1] == ["turn 1"]
    assert [each.text for each in suite.run("none", [first, other])[0]] == ["one", "three"]


@pytest.mark.parametrize("mode", ["none", "off"])
def test_forgetting_needs_a_run_that_records(suite: Suite, mode: Mode) -> None:
    suite.run("new", turns(1), "one")
    before = suite.path.read_bytes()
    suite.run(mode, [], "x", unmeasured=1)
    assert suite.path.read_bytes() == before


def missed(suite: Suite, call: ChatCall) -> str:
    with pytest.raises(CassetteMiss) as caught:
        suite.run("none", [call])
    assert isinstance(caught.value, NotMeasured)
    return str(caught.value)


def test_a_miss_shows_the_nearest_call_and_what_differs(suite: Suite) -> None:
    prompt = "Be kind.\nNever promise a refund.\nAnswer in one sentence."
    suite.run("new", [a_call(prompt), a_call(prompt, trial=2), *turns(2, 3)], "one")
    changed = a_call(prompt.replace("one", "two"), trial=2, spec=replace(SPEC, temperature=0.7))
    assert missed(suite, replace(changed, spec=replace(changed.spec, model="gpt-4o"))) == (
        "shop.cassette.jsonl has no reply for agent, turn 1 (hours.clerk.caller, trial 2); "
        "the nearest is agent, turn 1 (hours.clerk.caller, trial 2)\n"
        "what differs: model, temperature, messages[1]\n"
        "  model: recorded 'gpt-4o-mini', asked 'gpt-4o'\n"
        "  temperature: recorded 0.0, asked 0.7\n"
        "--- recorded messages[1]\n"
        "+++ asked messages[1]\n"
        "@@ -3,2 +3,2 @@\n"
        " Never promise a refund.\n"
        "-Answer in one sentence.\n"
        "+Answer in two sentence.\n"
        "to record it: --dialeval-record=new, with the model's key at hand"
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (a_call("Hi 1", purpose="turn 9"), "what differs: purpose\nto record"),
        (a_call("Hi 1", trial=7), "trial 1)\nwhat differs: trial\nto record"),
        (a_call("Hi 2", purpose="turn 1"), "what differs: messages[1]\n---"),
        (a_call("Hi 1", spec=replace(SPEC, seed=5)), "  seed: recorded nothing, asked 5\n"),
        (
            replace(a_call("Hi 1"), schema={"type": "object"}),
            "what differs: schema\n--- recorded schema\n+++ asked schema\n"
            "@@ -1 +1,3 @@\n-(none)\n+{",
        ),
        (
            replace(a_call("Hi 1"), messages=a_call().messages[:1]),
            "+++ asked messages[1]\n@@ -1,2 +1 @@\n-user:\n-Hi 1\n+(none)",
        ),
    ],
)
def test_what_a_miss_tells(suite: Suite, call: ChatCall, told: str) -> None:
    suite.run("new", turns(1, 2), "one")
    assert told in missed(suite, call)


def test_a_miss_of_an_empty_cassette(suite: Suite) -> None:
    assert missed(suite, a_call()) == (
        "shop.cassette.jsonl has no reply for agent, turn 1 (hours.clerk.caller, trial 1): "
        "it is empty, or does not exist\n"
        "to record it: --dialeval-record=new, with the model's key at hand"
    )


def test_a_miss_stays_short_hides_secrets_and_control_characters(suite: Suite) -> None:
    suite.run("new", [a_call("\n".join(f"old {each}" for each in range(500)))], "one")
    lines = "\n".join(f"new {each} \x1b[31m{SECRET}" + "x" * 5000 for each in range(500))
    message = missed(suite, a_call(lines))
    assert len(message.splitlines()) <= 20 and len(message) < 3000
    assert SECRET not in message and "\x1b" not in message
    assert "more lines" in message


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        *(("none", "none"), ("new", "new"), ("all", "all"), ("off", "off")),
        *(("once", "new"), ("new_episodes", "new")),
    ],
)
def test_modes(text: str, mode: Mode) -> None:
    assert read_mode(text) == mode


def test_an_unknown_mode() -> None:
    with pytest.raises(ValueError, match="'non' is no way to record; did you mean 'none'\\?"):
        read_mode("non")


def test_the_mode_where_none_is_given(tmp_path: Path) -> None:
    path = tmp_path / "c"
    assert default_mode(path) == "off"
    path.touch()
    assert default_mode(path) == "none"


def test_without_a_model_or_a_file_it_is_said(suite: Suite) -> None:
    with pytest.raises(HarnessFault, match="no model"):
        ask(suite.recorder("off", None, None), [a_call()])
    with pytest.raises(HarnessFault, match="no file"):
        ask(suite.recorder("new", ScriptedChat("x"), None), [a_call()])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_replay_gives_what_the_run_got_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    suite = Suite(tmp_path_factory.mktemp("any"))
    calls = [
        a_call(f"words {words}", trial=trial, purpose=f"turn {turn}", nonce=f"n{turn}")
        for words, trial, turn in data.draw(
            st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(1, 12)))
        )
    ]
    script = [f"answer {number}" for number in range(len(calls) + 1)]
    got, _ = suite.run("new", calls, *script)
    heard = list(zip(calls, got, strict=True))
    chosen = data.draw(st.permutations(heard))[: data.draw(st.integers(0, len(heard)))]
    replayed, _ = suite.run("none", [call for call, _ in chosen])
    assert replayed == [answer for _, answer in chosen]
