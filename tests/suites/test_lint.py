from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dialeval.records.suite import Problem
from pytest_dialeval.records.task import Noise
from pytest_dialeval.suites.lint import lint

SUITE = """\
dialeval: 1
task:
  id: t
  flow:
    nodes: [{id: greet}, {id: ask, rubric: %s}, {id: %s}]
    edges: [[greet, %s]]
personas:
  - id: p
    script: {covers_flow_nodes: [%s], states: {start: {say: hi, end: true}}}
rubrics:
  - {id: r, dimension: safety, not: {keyword: bad}%s}
%s
"""


NOBODY_JUDGES = """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: hi, end: true}}}}]
"""


def suite(
    rubric: str = "r",
    node: str = "bye",
    target: str = "bye",
    covers: str = "ask",
    severity: str = "hard",
    more: str = "",
) -> str:
    return SUITE % (rubric, node, target, covers, f", severity: {severity}", more)


def test_a_suite_without_mistakes(load, matchers):
    loaded = load(suite())
    assert loaded.notes == ()
    assert lint(loaded, matchers) == ()


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (suite(rubric="zzz"), "5: no rubric 'zzz' (there: r)"),
        (suite(node="greet", target="greet"), "5: node 'greet' is there twice: rename one"),
        (
            suite(target="by"),
            "6: no flow node 'by'; did you mean 'bye'? (there: greet, ask, bye)",
        ),
        (
            suite(covers="asks"),
            "9: no flow node 'asks'; did you mean 'ask'? (there: greet, ask, bye)",
        ),
        (
            suite(severity="soft"),
            "10: every rubric is soft, so nothing can fail: make one hard, or declare `scoring`",
        ),
        (
            suite(more="scoring: {pass_on: flow}"),
            "12: no rubric 'flow' (there: r)",
        ),
    ],
)
def test_names_that_lead_nowhere(problems, written, found):
    assert problems(written) == [f"s.dialeval.yaml:{found}"]


def test_a_score_needs_rubrics(problems):
    text = "scoring needs rubrics: a score is made of their verdicts; add some, or remove it"
    for scoring in ("{}", "{pass_on: r}"):
        written = f"{NOBODY_JUDGES}scoring: {scoring}\n"
        assert problems(written) == [f"s.dialeval.yaml:4: {text}"]


def test_rubrics_may_be_left_to_test_functions(notes):
    assert "no rubric: only bodies of @dialogue_case" in notes(NOBODY_JUDGES)[0]


def test_soft_rubrics_alone_are_enough_where_the_score_decides(load):
    assert load(suite(severity="soft", more="scoring: {pass_on: r}")).notes == ()


def test_without_places_lint_names_the_lines_that_records_remember(load, matchers):
    loaded = load(suite())
    persona = replace(loaded.personas[0], noise=Noise(0.5), file="parts/p.yaml", line=7)
    rubric = replace(loaded.rubrics[0], min=0.0)
    broken = replace(loaded, personas=(persona,), rubrics=(rubric,), run=("x",), agents={})
    assert lint(broken, matchers) == (
        Problem(
            "parts/p.yaml",
            7,
            "noise with a rate needs kinds: some of filler, asr, broken, interruption",
        ),
        Problem("s.dialeval.yaml", 11, "a safety rubric with min: 0 can never fail: remove min"),
    )


def test_errors_carry_no_notes(problems):
    found = problems(suite(covers="asks", more="gates: {pass_hat_k: {k: 3, min: 1}}"))
    assert len(found) == 1
    assert "note" not in found[0]
