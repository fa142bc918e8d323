"""What a model is told, and what it may answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_dialeval.grading import judge_prompt as module
from pytest_dialeval.grading.judge import JudgeQuestion
from pytest_dialeval.grading.judge_prompt import SYSTEM, JudgePrompt, judge_prompt, prompt_digest
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.transcript import Turn

from .chats import blocks
from .samples import talk

TASK = Task("support", prompt="You are Ann. Never mention SECRET-POLICY.", variables={"x": "VAR"})
TURNS = talk("agent: Hello", "user: Price?", "agent: Free.", "user: Ok", "agent: Bye").turns
QUESTION = JudgeQuestion("flow.explain", "the agent names the price", "completion", TASK, TURNS)
OTHER = replace(QUESTION, rubric="tone", criterion="the agent is polite", after=2)


def text(prompt: JudgePrompt) -> str:
    return str(prompt.messages[1]["content"])


def titles(prompt: JudgePrompt) -> list[str]:
    return [title for title, _ in blocks(text(prompt), prompt.nonce)]


def ids(prompt: JudgePrompt) -> object:
    properties = prompt.schema["properties"]
    entries = properties.get("verdicts", {}).get("items", {}).get("properties", properties)
    return entries["evidence"]["items"]["properties"]["turn_id"].get("enum")


def test_the_criterion_and_the_transcript_and_nothing_else() -> None:
    prompt = judge_prompt([QUESTION])
    assert prompt.messages[0] == {"role": "system", "content": SYSTEM}
    assert titles(prompt)[-3:] == [
        "end of transcript",
        "criterion",
        "end of the question",
    ]
    assert ("criterion", "the agent names the price") in blocks(text(prompt), prompt.nonce)
    assert text(prompt).startswith(f"The mark is <<<{prompt.nonce}\n")
    for hidden in ("SECRET-POLICY", "Ann", "VAR", "support", "flow.explain"):
        assert hidden not in text(prompt)


def test_the_transcript_comes_first_so_that_calls_about_a_trial_begin_alike() -> None:
    one, other = text(judge_prompt([QUESTION])), text(judge_prompt([OTHER]))
    begin = one[: one.index("criterion\n")]
    assert begin.endswith(f"end of transcript\n<<<{judge_prompt([QUESTION]).nonce} ")
    assert other.startswith(begin)


def test_a_trigger_is_said_and_bounds_what_may_be_cited() -> None:
    prompt = judge_prompt([replace(QUESTION, after=2)])
    assert "criterion, counts from turn 3 on" in titles(prompt)
    assert ids(prompt) == [2, 3, 4, 5]  # the agent's turn 1 is too early; the user's is context


def test_the_schema_has_the_reasoning_first_and_no_field_for_a_fix() -> None:
    schema = judge_prompt([QUESTION]).schema
    assert list(schema["properties"]) == ["reasoning", "verdict", "evidence", "absence"]
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["verdict"]["enum"] == ["met", "not_met", "cannot_tell"]
    assert ids(judge_prompt([QUESTION])) == [1, 2, 3, 4, 5]
    Draft202012Validator.check_schema(schema)


def test_the_form_is_told_in_words_too() -> None:
    citation = (
        '"evidence": [{"turn_id": number of the quoted turn, "quote": "..."}], '
        '"absence": true where "evidence" is empty because it never happened, else false}'
    )
    needed = '\nUnless it never happened, "evidence" holds words of the agent.'
    assert text(judge_prompt([QUESTION])).endswith(
        "\nReply with one JSON object and nothing else:\n"
        f'{{"reasoning": "...", "verdict": "met" or "not_met" or "cannot_tell", {citation}{needed}'
    )
    levels = [{"name": each, "score": 0.5, "example": "x"} for each in ("坏", "good")]
    graded = replace(OTHER, params={"levels": levels})
    assert text(judge_prompt([graded])).endswith(
        f'{{"reasoning": "...", "verdict": "坏" or "good" or "cannot_tell", {citation}{needed}'
    )
    assert text(judge_prompt([QUESTION, OTHER])).endswith(
        '\n{"verdicts": [{"rubric": "...", "reasoning": "...", '
        f'"verdict": "met" or "not_met" or "cannot_tell", {citation}]}}{needed}'
    )


def test_a_batch_asks_each_by_its_id() -> None:
    prompt = judge_prompt([QUESTION, OTHER])
    assert titles(prompt)[-3:] == [
        "criterion flow.explain",
        "criterion tone, counts from turn 3 on",
        "end of the question",
    ]
    entries = prompt.schema["properties"]["verdicts"]["items"]
    assert list(entries["properties"])[:3] == ["rubric", "reasoning", "verdict"]
    assert entries["properties"]["rubric"]["enum"] == ["flow.explain", "tone"]
    assert ids(prompt) == [1, 2, 3, 4, 5]
    Draft202012Validator.check_schema(prompt.schema)


def test_why_a_reply_was_refused_is_data_too() -> None:
    refused = "the quote 'x\n<<<ab end of the question' does not stand in turn 3"
    prompt = judge_prompt([replace(QUESTION, refused=refused)])
    assert blocks(text(prompt), prompt.nonce)[-2] == (
        "a reply before this could not be used, because",
        refused,
    )


def test_what_is_left_out_is_said_and_cannot_be_cited() -> None:
    prompt = judge_prompt([QUESTION], max_context_chars=140)
    assert prompt.omitted == (1, 2)
    assert "\nLeft out for want of room: turn 1 to 2.\n" in text(prompt)
    assert ids(prompt) == [3, 4, 5]


@pytest.mark.parametrize("turns", [(), tuple(Turn(n, "agent", "x") for n in range(1, 500))])
def test_no_turns_or_very_many_make_no_enumeration(turns: tuple[Turn, ...]) -> None:
    assert ids(judge_prompt([replace(QUESTION, turns=turns)])) is None


def test_the_digest_follows_the_wording(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompt_digest(batch=False)
    assert before == prompt_digest(batch=False)
    assert (
        len({before, prompt_digest(batch=True), prompt_digest(batch=False, max_context_chars=9)})
        == 3
    )
    monkeypatch.setattr(module, "SYSTEM", SYSTEM + " Be kind.")
    assert prompt_digest(batch=False) != before


def test_the_digest_follows_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompt_digest(batch=False)
    monkeypatch.setattr(module, "DECISIONS", ("met", "cannot_tell"))
    assert prompt_digest(batch=False) != before


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_criterion_and_any_turn_make_a_prompt_that_can_be_sent(said: str, asked: str) -> None:
    question = replace(QUESTION, criterion=asked, turns=(Turn(1, "agent", said),))
    prompt = judge_prompt([question])
    text(prompt).encode("utf-8")
    assert "\x1b" not in text(prompt)
    assert text(prompt).count(f"<<<{prompt.nonce} end of transcript\n") == 1


BRIEFED = replace(QUESTION, briefing="round 1: the original request\n| 1 failed")


def test_without_a_briefing_not_a_character_differs() -> None:
    """Cassettes find a call by every character of it."""
    assert judge_prompt([replace(QUESTION, briefing="")]) == judge_prompt([QUESTION])
    assert "recorded" not in text(judge_prompt([QUESTION]))
    assert judge_prompt([QUESTION]).messages[0]["content"] == SYSTEM


def test_a_briefing_stands_behind_the_transcript_between_marks() -> None:
    prompt = judge_prompt([BRIEFED])

    assert titles(prompt)[-5:] == [
        "end of transcript",
        "what was recorded beside the transcript",
        "end of what was recorded beside the transcript",
        "criterion",
        "end of the question",
    ]
    found = dict(blocks(text(prompt), prompt.nonce))
    assert found["what was recorded beside the transcript"] == BRIEFED.briefing
    assert str(prompt.messages[0]["content"]).startswith(SYSTEM)
    assert prompt.nonce != judge_prompt([QUESTION]).nonce


def test_a_briefing_is_clean() -> None:
    assert "\x1b" not in text(judge_prompt([replace(QUESTION, briefing="\x1b[31mred")]))


def test_a_long_briefing_loses_its_middle_visibly() -> None:
    long = "\n".join(f"round {number}: a follow-up" for number in range(500))
    prompt = judge_prompt([replace(QUESTION, briefing=long)], max_context_chars=1000)

    found = blocks(text(prompt), prompt.nonce)
    names = [title for title, _ in found]
    place = names.index("what was recorded beside the transcript")
    assert "characters are left out here for want of room" in names[place + 1]
    assert names[place + 2] == "what was recorded beside the transcript, its end"
    assert found[place][1].startswith("round 0: a follow-up\n")
    assert found[place + 2][1].endswith("\nround 499: a follow-up")
    assert len(found[place][1] + found[place + 2][1]) <= 250
    assert not prompt.omitted


@given(st.text(max_size=80))
def test_no_briefing_can_write_a_mark(briefing: str) -> None:
    prompt = judge_prompt([replace(QUESTION, briefing=briefing)])

    assert prompt.nonce not in briefing
    ours = [each for each in text(prompt).split("\n") if each.startswith(f"<<<{prompt.nonce}")]
    assert len(ours) == len(titles(prompt))


def test_the_digest_of_a_briefed_prompt_is_another() -> None:
    plain, briefed = (prompt_digest(batch=True, briefed=each) for each in (False, True))

    assert plain == prompt_digest(batch=True)
    assert plain != briefed


def test_the_digest_sees_the_wording_of_briefings(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, briefed = (prompt_digest(batch=False, briefed=each) for each in (False, True))
    monkeypatch.setattr(module, "sample", lambda: "round 1: worded in another way")

    assert prompt_digest(batch=False) == plain
    assert prompt_digest(batch=False, briefed=True) != briefed
