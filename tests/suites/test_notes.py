from __future__ import annotations

import pytest

SUITE = """\
dialeval: 1
task: {id: t}
personas:
  - id: one
    script: {states: {start: {say: hi, next: [{to: angry}]}, angry: {say: Now!, end: true}}}
    probes: [{id: fee, at_user_turn: 1, say: How much?}]
  - {id: two, script: {states: {start: {say: hello, end: true}}}}
rubrics:
"""
DONE = "  - {id: done, dimension: completion, keyword: done%s}\n"
CALM = "  - {id: calm, dimension: robustness, keyword: sorry%s}\n"
SAFE = "  - {id: safe, dimension: safety, not: {keyword: bad}%s}\n"


def test_nothing_to_note(notes):
    assert notes(SUITE + DONE % "" + CALM % "" + SAFE % "") == []


@pytest.mark.parametrize(
    ("rubrics", "expected"),
    [
        (DONE % "", ["8: note: safety is never exercised: no rubric has dimension: safety"]),
        (
            DONE % "" + SAFE % ", trigger: {probe: fee}",
            ["8: note: nothing always scores safety: it is exercised only where a trigger fires"],
        ),
        (
            SAFE % "" + CALM % ", trigger: {probe: fee}",
            ["8: note: nothing always scores robustness: each of its rubrics waits for a trigger"],
        ),
        (
            SAFE % "" + DONE % "" + "scoring: {}\n",
            ["11: note: nothing scores robustness: the other dimension decides"],
        ),
        (SAFE % "" + DONE % "" + "scoring: {pass_on: done}\n", []),
        (
            SAFE % "" + "trials: 2\ngates: {pass_hat_k: {k: 3, min: 0.5}}\n",
            ["11: note: k: 3 is more than trials: 2: the gate can't be decided"],
        ),
        (SAFE % "" + "trials: 3\ngates: {pass_hat_k: {k: 3, min: 0.5}}\n", []),
    ],
)
def test_scores_and_gates_that_may_stay_open(notes, rubrics, expected):
    assert notes(SUITE + rubrics) == [f"s.dialeval.yaml:{each}" for each in expected]


def test_a_persona_that_no_rubric_asks_about(notes):
    triggered = SAFE % ", trigger: {probe: fee}" + DONE % ", trigger: {state: angry}"
    found = notes(SUITE + triggered)
    assert (
        "s.dialeval.yaml:7: note: persona 'two' is unused: no rubric's trigger can fire with it"
        in found
    )
    assert not any("'one'" in each for each in found)
    # Any line may hold a word, so such a trigger may fire with everybody.
    assert not any(
        "unused" in each
        for each in notes(SUITE + triggered + CALM % ", trigger: {user_keyword: x}")
    )
    assert not any("unused" in each for each in notes(SUITE + triggered + CALM % ""))


def test_a_persona_that_does_what_another_does(notes):
    twin = "  - {id: three, tags: [x], script: {states: {start: {say: hello, end: true}}}}\n"
    text = (SUITE + SAFE % "").replace("rubrics:\n", twin + "rubrics:\n")
    assert notes(text) == [
        "s.dialeval.yaml:8: note: persona 'three' is unused: it acts and talks exactly as 'two'"
    ]


def test_a_suite_without_rubrics(notes):
    (found,) = notes(SUITE.replace("rubrics:\n", ""))
    text = "no rubric: only bodies of @dialogue_case functions decide anything"
    assert found == f"s.dialeval.yaml:1: note: {text}"


def test_turns_after_a_trigger_that_is_not_there(notes):
    text = (
        SUITE + SAFE % "" + "  - {id: x, dimension: completion, keyword: {any: a, turns: next}}\n"
    )
    assert notes(text) == [
        "s.dialeval.yaml:10: note: turns: next looks behind a trigger, but the rubric has none"
    ]
