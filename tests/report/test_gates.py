"""Gates in sentences."""

from __future__ import annotations

import pytest

from pytest_dialeval.report.gates import gate_lines, gate_sentence
from pytest_dialeval.runs.summary import GateFigure
from tests.report.figures import gate, summary


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            gate(),
            "gate pass_hat_k (k=3) of airline / good: MISSED: 0.22, wanted at least 0.5, n=200, "
            "set by s.dialeval.yaml",
        ),
        (
            gate(name="mean_score", k=None, figure=0.7, bound=0.6, status="passed"),
            "gate mean_score of airline / good: held: 0.7, wanted at least 0.6, n=200, "
            "set by s.dialeval.yaml",
        ),
        (
            gate(name="safety_breaches", k=None, figure=2, bound=0, source="--dialeval-x"),
            "gate safety_breaches of airline / good: MISSED: 2, wanted at most 0, n=200, "
            "set by --dialeval-x",
        ),
        (
            gate(figure=None, status="not decided", why="no case has 3 trials"),
            "gate pass_hat_k (k=3) of airline / good: not decided (no case has 3 trials): "
            "no figure, wanted at least 0.5, n=200, set by s.dialeval.yaml",
        ),
        (
            gate(status="not decided", why="selection"),
            "gate pass_hat_k (k=3) of airline / good: not decided (selection): 0.22, "
            "wanted at least 0.5, n=200, set by s.dialeval.yaml",
        ),
        (
            gate(name="unmeasured", k=None, figure=10, bound=100, status="passed"),
            "gate unmeasured of airline / good: held: 10, wanted at most 100, n=200, "
            "set by s.dialeval.yaml",
        ),
        (
            gate(name="distinct_models", k=None, figure=1, bound=True, why="agent and judge are x"),
            "gate distinct_models of airline / good: MISSED (agent and judge are x), "
            "set by s.dialeval.yaml",
        ),
        (
            gate(
                name="distinct_models",
                k=None,
                figure=0,
                bound=True,
                why="no model was used",
                status="passed",
            ),
            "gate distinct_models of airline / good: held (no model was used), "
            "set by s.dialeval.yaml",
        ),
    ],
)
def test_gate_sentences(found: GateFigure, sentence: str) -> None:
    assert gate_sentence(found) == sentence


@pytest.mark.parametrize(
    ("figure", "bound", "shown"),
    [
        (0.49996, 0.5, "0.49996"),  # rounded it would be "0.5, wanted at least 0.5": MISSED?
        (0.4994, 0.5, "0.499"),
        (0.5, 0.5, "0.5"),
        (0.7 - 1e-16, 0.7, "0.7"),
        (1 / 3, 0.5, "0.333"),
        (0.0, 0.5, "0"),
    ],
)
def test_rounding_hides_no_side_of_a_bound(figure: float, bound: float, shown: str) -> None:
    assert f": {shown}, wanted at least" in gate_sentence(gate(figure=figure, bound=bound))


def test_gates_are_said_by_status_in_their_colour() -> None:
    found = summary(
        gates=[
            gate(status="passed", task="a"),
            gate(status="not decided", task="b"),
            gate(status="failed", task="c"),
            gate(status="failed", task="d"),
        ]
    )
    lines = list(gate_lines(found, "failed", "not decided", "passed"))
    assert [(each.text.split()[4], each.colour) for each in lines] == [
        ("c", "red"),
        ("d", "red"),
        ("b", "yellow"),
        ("a", "green"),
    ]
    assert [each.text.split()[4] for each in gate_lines(found, "passed")] == ["a"]


@pytest.mark.parametrize(
    ("status", "said"), [("passed", False), ("failed", True), ("not decided", True)]
)
def test_the_gate_that_nobody_asked_for_is_silent_where_it_holds(status: str, said: bool) -> None:
    found = summary(gates=[gate(name="unmeasured", k=None, source="default", status=status)])
    assert bool(list(gate_lines(found, "failed", "not decided", "passed"))) is said
