"""The turns kept with a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.run import WorkExcerpt
from pytest_dialeval.records.transcript import Artifact, ToolCall, Transcript, Turn
from pytest_dialeval.records.verdict import Evidence, Verdict
from pytest_dialeval.records.work import Check, RoundWork
from pytest_dialeval.runs.excerpt import LONGEST, PRINTED, WIDEST, excerpt, work_excerpt

SIX = Transcript(
    tuple(Turn(n, "user" if n % 2 else "agent", f"words of turn {n}") for n in range(1, 7))
)
MILLION = 1_000_000


def ids(verdict: Verdict, transcript: Transcript = SIX) -> list[int]:
    return [each.id for each in excerpt(transcript, verdict)]


def found(*turns: int, status: str = "failed", **more: object) -> Verdict:
    evidence = tuple(Evidence(each, "words") for each in turns)
    return Verdict("r", status, evidence=evidence, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "turns"),
    [
        (found(4), [3, 4]),
        (found(1), [1]),
        (found(4, 4, 4), [3, 4]),
        (found(6, 2), [1, 2, 5, 6]),
        (found(2, 4, 6, 1), [1, 2, 3, 4, 5, 6]),
        (found(6, 5, 4, 1), [3, 4, 5, 6]),  # the three that decide, as a matcher orders them
        (found(99), []),
        (found(searched=(2, 4, 6)), [2, 4]),  # absence: the first turns searched in vain
        (found(4, searched=(2, 4, 6)), [3, 4]),
        (found(), [5, 6]),  # nothing to show: how it ended
        (found(status="passed"), []),
        (found(status="not_applicable"), []),
        (found(status="unscored"), []),
    ],
)
def test_which_turns_are_kept(verdict: Verdict, turns: list[int]) -> None:
    assert ids(verdict) == turns


def test_an_empty_transcript() -> None:
    assert ids(found(), Transcript()) == []


def test_turns_that_are_short_are_the_transcript_s_own() -> None:
    assert excerpt(SIX, found(4))[1] is SIX.turns[3]


# ---- 1 MB


def long(start: int, quote: str = "保证退款") -> tuple[Transcript, Verdict]:
    text = "x" * start + quote + "y" * (MILLION - start)
    turns = (Turn(1, "user", "hi"), Turn(2, "agent", text))
    return Transcript(turns), Verdict("r", "failed", evidence=(Evidence(2, quote, start),))


@pytest.mark.parametrize("start", [0, 1, 499, 500, 501, 3000, 500_000, 999_000, MILLION])
def test_a_long_turn_is_shortened_round_its_quote(start: int) -> None:
    transcript, verdict = long(start)
    kept = excerpt(transcript, verdict)[1].text
    assert "保证退款" in kept
    assert len(kept) < LONGEST + 80
    assert ("left out] " in kept) == (start > 500)
    assert kept.endswith("characters left out]") == (start < MILLION - 2000)


def test_what_is_left_out_is_counted() -> None:
    transcript, verdict = long(10_000)
    kept = excerpt(transcript, verdict)[1].text
    # the window begins 500 before the quote: 9500 before it, 1 000 004 - 9500 - 2000 behind it
    assert kept.startswith("[9500 characters left out] " + "x" * 500 + "保证退款")
    assert kept.endswith("y [988504 characters left out]")


def test_the_quote_that_decides_is_the_one_shown() -> None:
    text = "a" * 5000 + "first" + "a" * 5000 + "second" + "a" * 5000
    transcript = Transcript((Turn(1, "agent", text),))
    evidence = (Evidence(1, "second", 10_005), Evidence(1, "first", 5000))
    (kept,) = excerpt(transcript, Verdict("r", "failed", evidence=evidence))
    assert "second" in kept.text
    assert "first" not in kept.text


def test_tool_results_and_artifacts_are_shortened_too() -> None:
    turn = Turn(
        1,
        "agent",
        "short",
        tool_calls=(
            ToolCall("search", {"q": "x"}, "c1", "r" * MILLION),
            ToolCall("write", {"text": "t" * MILLION}, "c2"),
            ToolCall("raw", "u" * MILLION, "c3", ""),
        ),
        artifacts=(Artifact("page.html", "h" * MILLION),),
    )
    (kept,) = excerpt(Transcript((turn,)), found(1))
    assert kept.text == "short"
    assert [(each.name, each.id) for each in kept.tool_calls] == [
        ("search", "c1"),
        ("write", "c2"),
        ("raw", "c3"),
    ]
    assert kept.tool_calls[0].arguments == {"q": "x"}
    assert kept.tool_calls[1].result is None
    assert kept.tool_calls[2].result == ""
    assert len(repr(kept)) < 6 * LONGEST


@given(
    st.integers(0, 5000),
    st.text("ab", min_size=1, max_size=50),
    st.integers(0, 5000),
)
def test_a_quote_that_fits_is_always_shown(before: int, quote: str, after: int) -> None:
    text = "-" * before + quote + "-" * after
    transcript = Transcript((Turn(1, "agent", text),))
    verdict = Verdict("r", "passed", evidence=(Evidence(1, quote, before),))
    (kept,) = excerpt(transcript, verdict)
    assert quote in kept.text
    assert len(kept.text) <= LONGEST + 70


TURNS = tuple(Turn(n, "agent", "done", round=n) for n in (1, 2, 3))


def worked(*checks: Check, work: tuple[RoundWork, ...] = ()) -> Transcript:
    return Transcript(TURNS, checks=checks, work=work)


@pytest.mark.parametrize(
    ("verdict", "printed"),
    [
        (found(2), ("second",)),
        (found(3, 2), ("third",)),  # what decides stands first
        (found(searched=(2,)), ("second",)),  # a turn without words is searched alone
        (found(1), None),  # it passed there
        (found(), None),
        (found(9), None),
        (found(2, status="passed"), None),
    ],
)
def test_the_verifier_of_the_round_that_decides(verdict, printed):
    said = worked(
        Check(1, True, output="first"),
        Check(2, True, output="one before"),
        Check(2, False, output="second\n\n"),
        Check(3, False, output="third"),
    )
    shown = work_excerpt(said, verdict)
    assert (shown and shown.printed) == printed


def test_an_agent_that_broke_down_says_why_itself():
    asked = (Turn(1, "user", "fix it", round=1),)
    said = Transcript(asked, checks=(Check(1, False, output="x"),), outcome="agent_error")
    assert work_excerpt(said, found(1)) is None


def test_what_could_not_be_told_shows_nothing():
    assert work_excerpt(worked(Check(2, None, output="x")), found(2)) is None


def test_its_last_lines_without_secrets_and_the_patch():
    lines = [*map(str, range(PRINTED)), "x" * (WIDEST - 3) + "secret"]
    work = (RoundWork(1, True, patch="1.patch"), RoundWork(2, True, patch="2.patch"))
    shown = work_excerpt(
        worked(Check(2, False, output="\n".join(lines)), work=work),
        found(2),
        lambda text: text.replace("secret", "[redacted]"),
    )
    last = "x" * (WIDEST - 3) + "[re"
    assert shown == WorkExcerpt((*lines[1:-1], last), "2.patch")


@pytest.mark.parametrize(
    ("work", "untouched"), [((RoundWork(2, False),), True), ((RoundWork(1, False),), False)]
)
def test_that_nothing_was_changed_is_known_only_of_a_folder_that_was_looked_at(work, untouched):
    shown = work_excerpt(worked(Check(2, False), work=work), found(2))
    assert shown == WorkExcerpt((), None, untouched)
