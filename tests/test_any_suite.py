"""Any suite that loads can be run to an end: every trial ends, every rubric gets a verdict."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.resolve import agent_factory
from pytest_dialeval.errors import SuiteError
from pytest_dialeval.grading.grade import Dialogue, compile_rubrics, grade_by_rule
from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.suites.load import load_suite

MATCHERS = builtin_matchers()
WORDS = st.sampled_from(["yes", "no", "327", "退款", "免费", "hello there", "{fee}", "😀"])
LINES = st.lists(WORDS, min_size=1, max_size=3)
CHECKS = st.one_of(
    st.builds(lambda words: {"keyword": {"any": words}}, LINES),
    st.builds(lambda words: {"not": {"keyword": {"all": words}}}, LINES),
    st.builds(lambda words: {"blacklist": {"phrases": words, "unless_negated": True}}, LINES),
    st.builds(lambda most: {"length": {"max_chars": most}}, st.integers(1, 40)),
    st.builds(lambda words: {"ordered_keyword": {"steps": words}}, LINES),
    st.builds(lambda words: {"pace": {"steps": words}}, LINES),
    st.sampled_from(
        [
            {"number_whitelist": {"user": True}},
            {"placeholder": {}},
            {"repetition": {}},
            {"language": "en"},
            {"regex": "^y"},
            {"tool_called": "look_up"},
            {"json": {}},
            {"recorded": {"field": "reward", "min": 1}},
        ]
    ),
)
NAMES = ("start", "middle", "last")


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    """A small machine; it may be one that lint refuses."""
    made: dict[str, Any] = {}
    for name in NAMES[: draw(st.integers(1, 3))]:
        made[name] = {"say": draw(LINES)}
    for state in made.values():
        if draw(st.booleans()):
            state["end"] = True
            continue
        targets = st.sampled_from([*made, "end"])
        ways: list[dict[str, Any]] = []
        if draw(st.booleans()):
            when = draw(st.one_of(CHECKS, st.just({"user_turn": draw(st.integers(1, 4))})))
            ways.append({"when": when, "to": draw(targets)})
        ways += [{"to": draw(targets)} for _ in range(draw(st.integers(1, 2)))]
        state["next"] = ways
    return made


@st.composite
def suites(draw: st.DrawFn) -> dict[str, Any]:
    machine = draw(states())
    persona: dict[str, Any] = {"id": "p", "script": {"states": machine}}
    if draw(st.booleans()):
        where = draw(st.sampled_from([{"at_user_turn": 2}, {"on_state": "start"}]))
        persona["probes"] = [{"id": "q", "say": draw(WORDS), **where}]
    if draw(st.booleans()):
        kinds = ["filler", "asr", "broken", "interruption"]
        persona["noise"] = {"rate": draw(st.floats(0, 1)), "kinds": kinds}
    rubrics = []
    for number in range(draw(st.integers(1, 4))):
        dimension = draw(st.sampled_from(["completion", "robustness", "safety"]))
        rubric = {"id": f"r{number}", "dimension": dimension, **draw(CHECKS)}
        if draw(st.booleans()):
            triggers = [{"state": "start"}, {"user_keyword": draw(LINES)}, {"when": draw(CHECKS)}]
            then = draw(st.sampled_from(["after", "all"]))
            rubric["trigger"] = {**draw(st.sampled_from(triggers)), "then": then}
        rubrics.append(rubric)
    suite: dict[str, Any] = {
        "dialeval": 1,
        "task": {
            "id": "t",
            "language": draw(st.sampled_from(["en", "zh"])),
            "opening": draw(st.sampled_from(["agent", "user"])),
            "max_rounds": draw(st.integers(1, 6)),
            "variables": {"fee": 3},
        },
        "agents": {"a": {"use": "scripted", "script": "a.yaml"}},
        "personas": [persona],
        "rubrics": rubrics,
    }
    if draw(st.booleans()):
        suite["scoring"] = {"pass": draw(st.floats(0, 1))}
    return suite


SCRIPT = {
    "opening": ["hello there"],
    "replies": [
        {"when": {"keyword": {"any": ["yes"]}}, "say": ["免费, yes", "it costs 327"]},
        {"when": {"keyword": {"any": ["327"]}}, "say": ["no"], "hang_up": True},
    ],
    "otherwise": ["yes", "we can't promise a refund"],
}


def loaded(written: dict[str, Any], folder: Path) -> Suite:
    (folder / "a.yaml").write_text(json.dumps(SCRIPT), encoding="utf-8")
    path = folder / "s.dialeval.yaml"
    path.write_text(json.dumps(written), encoding="utf-8")  # JSON is YAML
    return load_suite(path, rootdir=folder, matchers=MATCHERS)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
        HealthCheck.too_slow,
    ],
)
@given(suites())
def test_any_suite_that_loads_can_be_run_to_an_end(tmp_path: Path, written: dict[str, Any]) -> None:
    try:
        suite = loaded(written, tmp_path)
    except SuiteError:
        assume(False)
        return
    agent = agent_factory(suite.agents["a"], rootdir=tmp_path, matchers=MATCHERS)
    [persona] = suite.personas
    draw = Draw("seed", "t", "p", 1)
    transcript = asyncio.run(converse(suite.task, persona, agent, draw=draw, matchers=MATCHERS))
    assert transcript.outcome in ("completed", "limit_reached"), transcript.reason
    said = [each for each in transcript.turns if each.speaker == "user"]
    assert len(said) <= suite.task.max_rounds
    assert all(each.text.strip() for each in said)
    dialogue = Dialogue(transcript, suite.task)
    compiled = compile_rubrics(suite.rubrics, MATCHERS)
    verdicts = {each.rubric.id: grade_by_rule(each, dialogue) for each in compiled}
    for verdict in verdicts.values():
        assert verdict.status in ("passed", "failed", "not_applicable"), verdict.reason
        for evidence in verdict.evidence:
            turn = transcript.turn(evidence.turn)
            assert turn is not None
            assert evidence.stands_in(turn)
    score = score_trial(suite.rubrics, verdicts, suite.scoring, transcript.outcome)
    assert score.measured == (score.passed is not None)
