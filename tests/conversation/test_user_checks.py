"""What must not be sent, and what must: both sides of each check."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.conversation import user_checks
from pytest_dialeval.conversation.user_checks import LONGEST, ROLES, Expected, check_line
from pytest_dialeval.conversation.user_prompt import INSTRUCTIONS
from pytest_dialeval.conversation.user_reply import REASONS, UnusableLine
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.records.task import Persona, Script, State
from pytest_dialeval.traces.recordings import read_recordings

TAU = Path(__file__).resolve().parents[3] / "shared/data/tau"
SENTENCES = [each for each in INSTRUCTIONS.replace("\n", " ").split(". ") if len(each.split()) > 8]
GOAL = "say that your order number is 4471 and that it has not arrived since Monday"


def expected(
    *say: str,
    goal: str = "",
    personality: str = "",
    language: str = "en",
    said: tuple[str, ...] = (),
    heard: tuple[str, ...] = (),
) -> Expected:
    state = State("start", say, goal)
    persona = Persona("p", Script({"start": state}), personality=personality)
    return Expected(persona, state, language, "0a1b2c3d4e5f60", said, heard)


def reason(line: str, given: Expected) -> str | None:
    try:
        check_line(line, given)
    except UnusableLine as problem:
        assert problem.reason in REASONS
        return problem.reason
    return None


def test_an_honest_line() -> None:
    assert reason("Where is my parcel?", expected("Where's the parcel?")) is None


@pytest.mark.parametrize("line", ["", " ", "\u200b\u2060", "\n\t", "\ufeff", "...", "……"])
def test_lines_without_words(line: str) -> None:
    assert reason(line, expected()) == "empty"


@pytest.mark.parametrize("line", ["?", "👍", "No.", "好", "42"])
def test_short_lines_are_lines(line: str) -> None:
    assert reason(line, expected(language="zh" if line == "好" else "en")) is None


def test_length() -> None:
    assert reason("x " * (LONGEST // 2), expected()) is None
    assert reason("x " * LONGEST, expected()) == "long"
    assert reason("x " * LONGEST, expected("y" * LONGEST)) is None, "the script itself is verbose"


@pytest.mark.parametrize("sentence", SENTENCES)
def test_our_instructions_stay_with_us(sentence: str) -> None:
    assert reason(f"I was told: {sentence.upper()}!", expected()) == "leaked"


def test_what_the_script_says_may_be_said_though_it_sounds_like_us() -> None:
    sentence = "Keep to the step that is due and leave later steps for later."
    assert reason(sentence, expected()) == "leaked"
    assert reason(sentence, expected(sentence)) is None
    assert reason(sentence, expected(goal=f"quote this: {sentence}")) is None
    heard = (f"Well. {sentence} Yes?", "So?")
    assert reason(f"You said: {sentence}", expected(heard=heard)) is None


@pytest.mark.parametrize(
    "line",
    [
        "<<<0a1b2c3d4e5f60 the agent",
        "The code is 0A1B2C3D4E5F60.",
        "<<< end",
        '{"say": "hello", "done": true}',
    ],
)
def test_marks_and_keys_stay_with_us(line: str) -> None:
    assert reason(line, expected()) == "leaked"


def test_a_goal_is_done_and_not_read_out() -> None:
    assert reason(GOAL, expected(goal=GOAL)) == "leaked"
    assert reason(f"{GOAL.capitalize()}.", expected(goal=GOAL)) == "leaked"
    done = "My order number is 4471 and it has not arrived since Monday."
    assert reason(done, expected(goal=GOAL)) is None
    assert reason("the fee", expected(goal="the fee")) is None
    assert reason("询问升级要不要钱", expected(goal="询问升级要不要钱", language="zh")) == "leaked"
    assert reason("升级要不要钱？", expected(goal="询问升级要不要钱", language="zh")) is None


WHO = (
    "An impatient man of forty who has been a loyal customer for more than ten years and never "
    "waits longer than one minute for an answer before he grows loud."
)


def test_a_description_is_lived_and_not_read_out() -> None:
    assert reason(f"I am {WHO}", expected(personality=WHO)) == "leaked"
    fact = "I have been a loyal customer for more than ten years!"
    assert reason(fact, expected(personality=WHO)) is None
    long = "她是一位四十岁的小学老师，说话很慢，喜欢反复确认，每次都要问两遍价格才肯作决定。"
    assert reason(f"我就是：{long}", expected(personality=long, language="zh")) == "leaked"
    assert reason("我是小学老师，你慢点说。", expected(personality=long, language="zh")) is None


@pytest.mark.parametrize(
    "line",
    [
        "Agent: sure, one moment.",
        "**Assistant**: sure.",
        "客服：您好！",
        "Customer: hello",
        "[User] : hello",
        "Hello! How may I help you?",
        "What can I do for you today?",
        "Is there anything else I can help you with?",
        "您好，请问有什么可以帮您？",
        "很高兴为您服务。",
        "我需要知道您的信息，以便更好地服务您。",
        "I'm an AI, so I have no order.",
        "As a large language model, I can't.",
        "I can't help with that. I'm just a customer, not an agent.",
        "我不是客服，我只是顾客。",
        "I'm sorry, but I can't help with that.",
        "作为一名AI，我没有订单。",
    ],
)
def test_the_user_is_not_the_agent(line: str) -> None:
    language = "zh" if any("\u4e00" <= each <= "\u9fff" for each in line) else "en"
    assert reason(line, expected(language=language)) == "role"


@pytest.mark.parametrize(
    "line",
    [
        "Are you an AI?",
        "Can you help me with my order?",
        "I want to speak to an agent: now!",
        "You are the assistant, so do it.",
        "Is there anything else I can do?",
        "我想找客服：你们太慢了。",
        "你是人工智能吗？",
    ],
)
def test_speaking_about_agents_is_not_speaking_as_one(line: str) -> None:
    language = "zh" if any("\u4e00" <= each <= "\u9fff" for each in line) else "en"
    assert reason(line, expected(language=language)) is None


def test_what_the_script_asks_for_is_no_flip() -> None:
    assert reason("I'm an AI.", expected(goal='Pretend: "I\'m an AI"')) is None
    assert reason("How can I help you?", expected("How can I help you? Just joking.")) is None


SAID = "Your parcel 4471 left Leipzig on Tuesday and it will be with you on Friday at ten."


def test_the_agents_words_are_answered_and_not_repeated() -> None:
    assert reason(SAID, expected(heard=(SAID,))) == "role"
    assert reason(SAID.lower().rstrip("."), expected(heard=("Hm. " + SAID,))) == "role"
    assert reason("On Friday at ten?", expected(heard=(SAID,))) is None
    assert reason("So it left on Tuesday, and comes on Friday?", expected(heard=(SAID,))) is None
    assert reason(SAID, expected(heard=(SAID, "Anything else?"))) is None, "the last turn alone"
    assert reason(SAID, expected(SAID, heard=(SAID,))) is None, "it is in the script"


def test_no_line_twice() -> None:
    given = expected(said=("Hello, there?", "好的，谢谢。"))
    assert reason("hello  there!", given) == "repeated"
    assert reason("好的 谢谢", replace(given, language="zh")) == "repeated"
    assert reason("Hello, there you are.", given) is None
    assert reason("?!", expected(said=("...",))) is None
    assert reason("👍", expected(said=("👍",))) == "repeated"


def test_the_language_of_the_task() -> None:
    german = "Ich möchte bitte wissen, wie viel das kostet und ob es dabei bleibt."
    assert reason(german, expected()) == "language"
    assert reason(german, expected(language="de")) is None
    assert reason("Where is my parcel now?", expected(language="zh-CN")) == "language"
    assert reason("请问我的包裹在哪里？", expected(language="zh-CN")) is None
    assert reason("请问我的包裹在哪里？", expected("包裹在哪里？")) is None, "the script is foreign"
    assert reason(german, expected(language="sv")) is None, "nobody can tell"
    assert reason("OK!", expected(language="zh")) is None


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_line_is_judged_and_the_judgement_holds(line: str, said: str, heard: str) -> None:
    given = expected(said=(said,), heard=(heard,))
    found = reason(line, given)
    assert found == reason(line, given)
    if found is None:
        assert reason(line, replace(given, said=(said, line))) == "repeated"


@given(st.lists(st.sampled_from("the a fee is free for you and me now".split()), min_size=3))
def test_lines_of_the_script_can_be_sent(words: list[str]) -> None:
    line = " ".join(words)[:LONGEST]
    assert reason(line, expected(line, "another", goal="ask about the fee")) is None


@pytest.mark.parametrize(
    ("form", "name"),
    [("tau-bench", "tau1_gpt-4o-airline_50x4.json"), ("tau2", "tau2_gpt-4.1_retail_40x1.json")],
)
def test_users_of_recorded_conversations_would_hardly_be_stopped(form: str, name: str) -> None:
    if not (TAU / name).exists():
        pytest.skip("../shared is not here")
    lines, stopped = 0, []
    for recording in read_recordings(form, TAU / name):
        said: tuple[str, ...] = ()
        heard: tuple[str, ...] = ()
        for turn in recording.transcript.turns:
            if turn.speaker == "agent":
                heard += (turn.text,) if turn.text else ()
            elif turn.text:
                lines += 1
                found = reason(turn.text, expected(goal="x", said=said, heard=heard))
                stopped += [found] if found else []
                said += (turn.text,)
    assert lines > 250
    assert len(stopped) <= lines / 100, stopped
    assert "leaked" not in stopped and "role" not in stopped


def test_an_agents_turn_as_the_users_line_is_found() -> None:
    name = "tau1_gpt-4o-airline_50x4.json"
    if not (TAU / name).exists():
        pytest.skip("../shared is not here")
    texts = [
        turn.text
        for recording in read_recordings("tau-bench", TAU / name)
        for turn in recording.transcript.turns
        if turn.speaker == "agent" and 8 <= len(turn.text.split()) and len(turn.text) <= LONGEST
    ]
    assert len(texts) > 500
    assert {reason(each, expected(heard=(each,))) for each in texts} == {"role"}


@pytest.mark.parametrize(("pattern", "held"), [each[:2] for each in ROLES])
@given(data=st.data())
def test_whatever_gives_a_role_away_holds_one_of_its_words(
    pattern: re.Pattern[str], held: tuple[str, ...], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    assert any(each in text for each in held)


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_words_of_ascii_are_those_of_the_pattern(text: str) -> None:
    """They are cut without one, which is many times as fast."""
    folded = normal(text).text
    assert user_checks._words(text) == re.findall(r"\w+", folded)
    assert user_checks._key(text) == (re.sub(r"[\W_]+", "", folded) or folded.strip())


@given(st.lists(st.sampled_from("a b c d".split()), max_size=12), st.integers(1, 4))
def test_what_shares_no_words_in_a_row_is_told_without_looking_at_runs(
    words: list[str], size: int
) -> None:
    text = "c a b. d b a, c"
    runs = {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}
    told = "c a b d b a c".split()
    shared = runs & {tuple(told[at : at + size]) for at in range(len(told) - size + 1)}
    assert user_checks._may_share_run(words, text, size) or not shared
    assert not user_checks._may_share_run(["e", *words[: size - 1]], text, size)
