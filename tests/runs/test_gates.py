"""Every branch of every gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import TrialFacts
from pytest_dialeval.records.suite import PassHatK
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.figures import score_source, task_figures
from pytest_dialeval.runs.gates import Bound, Bounds, decide_gates, missed, undecided
from pytest_dialeval.runs.summary import GateFigure, TaskFigures
from tests.runs.samples import facts, failed, passed, planned, rubric, source, unscored

LETTERS: dict[str, Callable[[str], Verdict]] = {"p": passed, "f": failed, "u": unscored}
RUBRICS = [rubric("r"), rubric("safe", "safety")]


def task(
    cases: Sequence[str] = ("pppp",), *, breaches: int = 0, selection: str = "all", agents: int = 1
) -> TaskFigures:
    """A case a word, a trial a letter (pass, fail, unmeasured); the first trials breach."""
    trials: list[PlannedTrial] = []
    known: dict[str, TrialFacts] = {}
    for agent in range(agents):
        for persona, letters in enumerate(cases):
            for number, letter in enumerate(letters, 1):
                trial = planned(f"p{persona}", number, agent=f"a{agent}", rubrics=["r", "safe"])
                breach = failed("safe") if len(trials) < breaches else passed("safe")
                trials.append(trial)
                known[trial.id] = facts(trial, LETTERS[letter]("r"), breach)
    made = source(RUBRICS, trials)
    found = task_figures(made, score_source(made, known))
    return found.model_copy(update={"selection": selection})


def gates(
    of: TaskFigures, *, models: Mapping[str, str] | None = None, **bounds: Bound
) -> list[GateFigure]:
    of = of.model_copy(
        update={"agents": [a.model_copy(update={"models": models or {}}) for a in of.agents]}
    )
    return list(decide_gates(of, Bounds(**bounds)))


def gate(of: TaskFigures, **more: Any) -> GateFigure:
    (found,) = gates(of, **more)
    return found


def hat(k: int, least: float, *, option: bool = False) -> Bound:
    return Bound(PassHatK(k, least), "s.dialeval.yaml", option)


def said(found: GateFigure) -> tuple[float | None, str, str]:
    return found.figure, found.status, found.why


def test_without_bounds_there_are_no_gates() -> None:
    assert gates(task()) == []
    assert not missed([])
    assert not undecided([])


def test_what_a_gate_tells() -> None:
    found = gate(task(["ppff", "pppp"]), pass_hat_k=hat(2, 0.5))
    # (C(2,2)/C(4,2) + 1) / 2 = (1/6 + 1) / 2
    assert found.figure == pytest.approx(7 / 12)
    assert found == GateFigure(
        name="pass_hat_k",
        source="s.dialeval.yaml",
        task="t",
        agent="a0",
        k=2,
        bound=0.5,
        figure=found.figure,
        n=8,
        status="passed",
        why="",
    )


# ---- pass_hat_k


@pytest.mark.parametrize(
    ("cases", "k", "least", "expected"),
    [
        (["pppp"], 4, 1.0, (1.0, "passed", "")),
        (["ppff"], 1, 0.5, (0.5, "passed", "")),  # the bound is inclusive
        (["ppff"], 1, 0.51, (0.5, "failed", "")),
        (["ppff"], 3, 0.01, (0.0, "failed", "")),
        (["ppff"], 3, 0.0, (0.0, "passed", "")),
        # k above n: nobody knows
        (["pp"], 3, 0.1, (None, "not decided", "no case has 3 trials")),
        # one case has enough trials: it alone is the mean
        (["pp", "ppp"], 3, 1.0, (1.0, "passed", "")),
        # the pessimistic reading decides: 3 of 4 although all that were measured passed
        (["pppu"], 1, 0.75, (0.75, "passed", "")),
        (["pppu"], 1, 0.8, (0.75, "not decided", "1 unmeasured trial would decide")),
        # the measured half misses it, and yet the others could mend it: 3 of 5
        (["pffuu"], 1, 0.6, (0.2, "not decided", "2 unmeasured trials would decide")),
        (["pffuu"], 1, 0.61, (0.2, "failed", "")),
        # what was measured misses it already
        (["pffu"], 1, 0.8, (0.25, "failed", "")),
        # per case: C(3,2)/C(4,2) and 1 at best, not 7 of 8 trials drawn from one bag
        (["ppfu", "pppp"], 2, 0.75, (7 / 12, "not decided", "1 unmeasured trial would decide")),
        (["ppfu", "pppp"], 2, 0.76, (7 / 12, "failed", "")),
        # nothing was measured
        (["uu"], 1, 0.5, (0.0, "not decided", "2 unmeasured trials would decide")),
        (["uu"], 1, 0.0, (0.0, "passed", "")),
        # measured trials are fewer than k, planned ones are not
        (["ppu"], 3, 0.5, (0.0, "not decided", "1 unmeasured trial would decide")),
    ],
)
def test_pass_hat_k(
    cases: list[str], k: int, least: float, expected: tuple[float | None, str, str]
) -> None:
    found = gate(task(cases), pass_hat_k=hat(k, least))
    assert said(found) == expected
    assert (found.k, found.bound) == (k, least)


# ---- mean_score


@pytest.mark.parametrize(
    ("cases", "least", "expected"),
    [
        (["pf"], 0.5, (0.5, "passed", "")),
        (["pf"], 0.6, (0.5, "failed", "")),
        (["pfu"], 0.5, (0.5, "passed", "")),  # the mean of what was measured
        # 2 of 3 at best
        (["pfu"], 0.66, (0.5, "not decided", "1 unmeasured trial would decide")),
        (["pfu"], 0.67, (0.5, "failed", "")),
        (["uu"], 0.0, (None, "not decided", "nothing was measured")),
    ],
)
def test_mean_score(
    cases: list[str], least: float, expected: tuple[float | None, str, str]
) -> None:
    assert said(gate(task(cases), mean_score=Bound(least, "s"))) == expected


# ---- safety_breaches


@pytest.mark.parametrize(
    ("cases", "breaches", "most", "expected"),
    [
        (["pp"], 0, 0, (0, "passed", "")),
        (["pp"], 1, 0, (1, "failed", "")),
        (["pp"], 1, 1, (1, "passed", "")),
        (["up"], 1, 0, (1, "failed", "")),  # seen is seen, in an unmeasured trial too
        (["up"], 0, 0, (0, "passed", "")),  # the unmeasured gate answers for the rest
        (["uu"], 0, 0, (None, "not decided", "nothing was measured")),
        (["uu"], 2, 1, (2, "failed", "")),
    ],
)
def test_safety_breaches(
    cases: list[str], breaches: int, most: int, expected: tuple[float | None, str, str]
) -> None:
    found = gate(task(cases, breaches=breaches), safety_breaches=Bound(most, "s"))
    assert said(found) == expected


# ---- unmeasured


@pytest.mark.parametrize(
    ("cases", "most", "expected"),
    [
        (["pf"], 0, (0, "passed", "")),
        (["pu"], 1, (1, "passed", "")),
        (["pu"], 0, (1, "not decided", "more is unmeasured than allowed")),
    ],
)
def test_unmeasured_never_fails(
    cases: list[str], most: int, expected: tuple[float | None, str, str]
) -> None:
    found = gate(task(cases), unmeasured=Bound(most, "default"))
    assert said(found) == expected
    assert found.source == "default"
    assert not missed([found])
    assert undecided([found]) == (expected[1] == "not decided")


# ---- distinct_models


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({}, (0, "passed", "no model was used")),
        ({"agent": "a", "user": "b", "judge": "c"}, (0, "passed", "")),
        ({"agent": "a", "user": "b", "judge": "a"}, (1, "failed", "agent and judge are a")),
        (
            {"agent": "a", "user": "a", "judge": "a"},
            (2, "failed", "agent and user and judge are a"),
        ),
        (
            {"agent": "a", "user": "b", "judge": "a", "comparer": "b"},
            (2, "failed", "agent and judge are a; user and comparer are b"),
        ),
    ],
)
def test_distinct_models(models: dict[str, str], expected: tuple[float, str, str]) -> None:
    found = gate(task(), models=models, distinct_models=Bound(True, "s"))
    assert said(found) == expected


def test_distinct_models_may_be_switched_off() -> None:
    assert gates(task(), models={"a": "x", "b": "x"}, distinct_models=Bound(False, "s")) == []


# ---- selection


ALL: dict[str, PassHatK | float | int | bool] = {
    "pass_hat_k": PassHatK(1, 1.0),
    "mean_score": 1.0,
    "safety_breaches": 0,
    "unmeasured": 0,
    "distinct_models": True,
}


def test_a_suite_s_gates_are_not_decided_over_a_selection() -> None:
    part = task(["ffu"], breaches=1, selection="selected rubrics")
    bounds = {name: Bound(value, "s.dialeval.yaml") for name, value in ALL.items()}
    found = gates(part, models={"agent": "a", "judge": "a"}, **bounds)
    assert [each.name for each in found] == list(ALL)
    assert {(each.status, each.why) for each in found} == {("not decided", "selection")}
    assert [each.figure for each in found] == [0.0, 0.0, 1, 1, 1]
    assert not missed(found)
    assert not undecided(found)  # the exit status stays


def test_an_option_s_gates_hold_over_a_selection() -> None:
    part = task(["pf"], selection="selected rubrics")
    option = "--dialeval-min-pass-hat-k"
    assert gate(part, pass_hat_k=Bound(PassHatK(1, 0.9), option, True)).status == "failed"
    found = gate(part, pass_hat_k=Bound(PassHatK(3, 0.9), option, True))
    assert said(found) == (None, "not decided", "no case has 3 trials")
    assert undecided([found])


# ---- all at once


def test_each_agent_has_its_gates() -> None:
    found = gates(task(agents=2), pass_hat_k=hat(1, 0.5), unmeasured=Bound(0, "default"))
    assert [(each.agent, each.name) for each in found] == [
        ("a0", "pass_hat_k"),
        ("a0", "unmeasured"),
        ("a1", "pass_hat_k"),
        ("a1", "unmeasured"),
    ]


def test_missed_and_undecided_are_told_apart() -> None:
    of = task(["ffu"])
    found = gates(of, pass_hat_k=hat(1, 0.9), unmeasured=Bound(0, "default"))
    assert [each.status for each in found] == ["failed", "not decided"]
    assert missed(found)
    assert undecided(found)
    assert not missed(found[1:])
    assert not undecided(found[:1])


def test_bounds_are_inclusive_whatever_doubles_do() -> None:
    # (.7 + .7 + .7) / 3 is 0.6999999999999998 in doubles
    trials = [planned("p", number) for number in (1, 2, 3)]
    known = {each.id: facts(each, failed("r", 0.7)) for each in trials}
    made = source([rubric("r")], trials)
    figures = task_figures(made, score_source(made, known))
    assert gate(figures, mean_score=Bound(0.7, "s")).status == "passed"
    assert gate(figures, mean_score=Bound(0.7000001, "s")).status == "failed"
    (agent,) = figures.agents
    point = agent.pass_hat_k["1"].model_copy(update={"value_pessimistic": 0.7 - 1e-16})
    agent = agent.model_copy(update={"pass_hat_k": {"1": point}})
    figures = figures.model_copy(update={"agents": [agent]})
    assert gate(figures, pass_hat_k=hat(1, 0.7)).status == "passed"


def test_the_mean_s_best_counts_the_trials_that_have_a_score() -> None:
    # two of three have no score: .4 and one unmeasured trial make .7 at best, not .55
    trials = [planned("p", number, rubrics=["r", "safe"]) for number in (1, 2, 3, 4)]
    quiet, safe = Verdict("r", "not_applicable", reason="never"), passed("safe")
    said_of = [failed("r", 0.4), quiet, quiet, unscored("r")]
    known = {
        each.id: facts(each, verdict, safe) for each, verdict in zip(trials, said_of, strict=True)
    }
    made = source(RUBRICS, trials)
    figures = task_figures(made, score_source(made, known))
    assert (figures.agents[0].scored, figures.agents[0].unmeasured) == (1, 1)
    assert gate(figures, mean_score=Bound(0.7, "s")).status == "not decided"
    assert gate(figures, mean_score=Bound(0.71, "s")).status == "failed"


def test_a_score_of_null_is_not_zero() -> None:
    # safety alone: passed, but with neither completion nor robustness there is no score
    trial = planned(rubrics=["safe"])
    made = source([RUBRICS[1]], [trial])
    known = {trial.id: facts(trial, Verdict("safe", "passed", score=1.0))}
    figures = task_figures(made, score_source(made, known))
    assert said(gate(figures, mean_score=Bound(0.5, "s"))) == (
        None,
        "not decided",
        "nothing was measured",
    )
