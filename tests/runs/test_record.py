"""A run's plan and ledgers become its summary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.suite import Gates, PassHatK, Scoring
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.verdict import DIMENSIONS
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.gates import Bound, Bounds
from pytest_dialeval.runs.ledger import LedgerWriter
from pytest_dialeval.runs.record import (
    Plan,
    note_lines,
    plan_document,
    read_facts,
    read_plan,
    summarise,
    unfinished,
)
from pytest_dialeval.runs.summary import SettingFigure
from tests.runs.samples import conversation, failed, passed, planned, rubric, source

WHOLE = replace(
    source(
        [
            Rubric(
                "faq.refund",
                "completion",
                MatcherSpec("all", {"all": [{"keyword": {"any": ["退", 3, 0.5, None, True]}}]}),
                weight=2.5,
                severity="soft",
                trigger=Trigger(when=MatcherSpec("keyword", {"any": ["x"]}), then="all"),
                min=0.5,
                tags=("faq",),
                file="rubrics.yaml",
                line=12,
            ),
            rubric("safety.no_promise", "safety", trigger=Trigger(user_keyword=("a", "b"))),
        ],
        [
            planned("hesitant", 1, rubrics=["faq.refund", "safety.no_promise"]),
            replace(planned("a_task_12345678", 2), original="A\ntask", attempt=2),
        ],
    ),
    scoring=Scoring(0.7, 0.5, 0.5, "faq.refund"),
    gates=Gates("gates", PassHatK(3, 0.5), 0.6, 0, 1, True),
    agents={"a": "v7", "b": None},
    uses={"a": "scripted", "b": "python:shop:Agent"},
    decide="gates",
    breaches_gated=True,
    notes=("s.dialeval.yaml:3: note: x",),
    items={"tests/test_fee.py::test_fee[hesitant-1]": "t.a.hesitant-1"},
)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "runs" / "20260102-030405-abcdef")
    made.create()
    return made


def through_disk(
    directory: RunDirectory, sources: list[Source], *more: Any, name: str = "plan"
) -> Plan:
    directory.write(name, plan_document(sources, *more))
    return read_plan(directory.path / f"{name}.json")


# ---- plan.json


def test_a_plan_comes_back_as_it_went(directory: RunDirectory) -> None:
    simple = source([rubric("r")], [planned()])
    assert through_disk(directory, [WHOLE, simple]) == Plan([WHOLE, simple])
    document = json.loads((directory.path / "plan.json").read_bytes())
    assert document.keys() == {"schema", "sources"}
    assert document["schema"] == "dialeval.plan/1"


def test_a_worker_s_plan_has_notes_and_may_refuse(directory: RunDirectory) -> None:
    found = through_disk(directory, [], ["x left out"], "no suite declares 'y'", name="plan.gw0")
    assert found == Plan([], ["x left out"], "no suite declares 'y'")


plain = st.text("abcé你\n\"'", max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | plain,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(plain, inner, max_size=2),
    max_leaves=4,
)
specs = st.builds(MatcherSpec, plain, st.dictionaries(plain, json_values, max_size=2))
triggers = st.builds(
    Trigger, probe=st.none() | plain, when=st.none() | specs, then=st.sampled_from(["after", "all"])
)
rubrics = st.builds(
    Rubric, plain, st.sampled_from(DIMENSIONS), specs,
    weight=st.floats(0.1, 9), severity=st.sampled_from(["hard", "soft"]),
    trigger=st.none() | triggers, tags=st.lists(plain, max_size=2).map(tuple),
)  # fmt: skip
sources = st.builds(
    Source,
    scoring=st.none() | st.builds(Scoring, st.floats(0, 1), pass_on=st.none() | plain),
    gates=st.builds(
        Gates, pass_hat_k=st.none() | st.builds(PassHatK, st.integers(1, 9), st.floats(0, 1))
    ),
    rubrics=st.lists(rubrics, max_size=2).map(tuple),
    trials=st.lists(
        st.builds(PlannedTrial, number=st.integers(1, 99), rubrics=st.lists(plain).map(tuple)),
        max_size=2,
    ).map(tuple),
    selected=st.dictionaries(plain, st.lists(plain, max_size=2).map(tuple), max_size=2),
)


@given(st.lists(sources, max_size=2))
def test_any_plan_comes_back(tmp_path_factory: pytest.TempPathFactory, found: list[Source]) -> None:
    directory = RunDirectory(tmp_path_factory.mktemp("run"))
    assert through_disk(directory, found).sources == found


def test_secrets_of_a_command_stay_out(directory: RunDirectory) -> None:
    made = replace(WHOLE, uses={"a": "command:agent --api-key abc"})
    assert through_disk(directory, [made]).sources[0].uses == {"a": "command:agent --api-key ***"}
    assert b"abc" not in (directory.path / "plan.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        (b"", "empty document"),
        (b'{"schema": "dialeval.plan/1", "sources": [', "unexpected end of data"),
        (b"[]", "its schema is None, not 'dialeval.plan/1'"),
        (b"{}", "its schema is None, not 'dialeval.plan/1'"),
        (b'{"schema": "dialeval.plan/2"}', "its schema is 'dialeval.plan/2', not"),
        (b'{"schema": "dialeval.plan/1"}', "sources: Field required"),
        (b'{"schema": "dialeval.plan/1", "sources": 3}', "sources: Input should be a valid list"),
        (b'{"schema": "dialeval.plan/1", "sources": [{}]}', "sources.0.name: Field required"),
        (b'{"schema": "dialeval.plan/1", "sources": [], "notes": 3}', "notes: Input should be"),
        (b'{"schema": "dialeval.plan/1", "sources": [], "refusal": 3}', "refusal: Input should be"),
        (b"\xff\xfe", ""),
    ],
)  # fmt: skip
def test_a_damaged_plan_is_one_sentence(tmp_path: Path, content: bytes | None, why: str) -> None:
    path = tmp_path / "plan.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RunError) as caught:
        read_plan(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: no plan of a run can be read here: ")
    assert why in text
    assert "\n" not in text


@given(st.data())
def test_no_damage_to_a_plan_is_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = RunDirectory(tmp_path_factory.mktemp("run"))
    directory.write("plan", plan_document([WHOLE]))
    path = directory.path / "plan.json"
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place : place + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=3))
    path.write_bytes(content)
    try:
        read_plan(path)
    except RunError as error:
        assert "\n" not in str(error)


# ---- facts and what is unfinished


def test_facts_come_from_all_ledgers(directory: RunDirectory) -> None:
    for worker, trial in (("gw0", "t-1"), ("gw1", "t-2")):
        writer = LedgerWriter(directory.path / f"ledger.{worker}.jsonl")
        writer.conversation(conversation(trial))
        writer.verdict(trial, passed("r"))
        writer.close()
    assert read_facts(directory) == {
        trial: TrialFacts(conversation(trial), {"r": passed("r")}) for trial in ("t-1", "t-2")
    }


def test_the_tenth_worker_came_after_the_ninth(directory: RunDirectory) -> None:
    for worker, verdict in (("gw9", failed("r")), ("gw10", passed("r"))):
        writer = LedgerWriter(directory.path / f"ledger.{worker}.jsonl")
        writer.conversation(conversation("t-1"))
        writer.verdict("t-1", verdict)
        writer.close()
    assert read_facts(directory)["t-1"].verdicts == {"r": passed("r")}


def test_a_run_whose_ledger_is_gone_says_so(directory: RunDirectory) -> None:
    with pytest.raises(RunError, match="the ledger is gone"):
        read_facts(directory)


def test_trials_without_all_their_verdicts_are_unfinished(directory: RunDirectory) -> None:
    trials = [planned("p", number, rubrics=["r", "s"]) for number in (1, 2, 3)]
    chosen = {trials[0].id: ["r"], trials[1].id: ["r", "s"], trials[2].id: ["s"]}
    made = source([rubric("r"), rubric("s")], trials, selected=chosen)
    writer = LedgerWriter(directory.path / "ledger.main.jsonl")
    writer.verdict(trials[0].id, passed("r"))
    writer.verdict(trials[1].id, passed("s"))
    writer.close()
    assert unfinished(directory, [made]) == [trials[1].id, trials[2].id]


# ---- the summary


def two_tasks(directory: RunDirectory) -> list[Source]:
    first = source([rubric("r")], [planned("p", n, task="one") for n in (1, 2)], task="one")
    second = source(
        [rubric("r"), rubric("safe", "safety")],
        [planned(task="two", rubrics=["r", "safe"])],
        task="two",
        name="b.dialeval.yaml",
        notes=("b.dialeval.yaml:1: note: x", "b.dialeval.yaml:2: note: y"),
    )
    writer = LedgerWriter(directory.path / "ledger.main.jsonl")
    for trial in (*first.trials, *second.trials):
        writer.conversation(conversation(trial.id))
        for each in trial.rubrics:
            writer.verdict(trial.id, failed(each) if trial.number == 2 else passed(each))
    writer.close()
    return [first, second]


def test_a_summary_of_two_tasks(directory: RunDirectory) -> None:
    found = summarise(
        directory,
        two_tasks(directory),
        read_facts(directory),
        label="nightly",
        exit_status=1,
        settings={
            "agent": SettingFigure(value=["a=command:x --token t"], source="--dialeval-agent")
        },
        notes=["3 items were rerun"],
        bounds=lambda each: Bounds(mean_score=Bound(0.6, each.name)),
    )
    assert (found.run_id, found.label, found.exit_status) == (directory.run_id, "nightly", 1)
    assert [(each.id, each.source, each.agents[0].passed) for each in found.tasks] == [
        ("one", "s.dialeval.yaml", 1),
        ("two", "b.dialeval.yaml", 1),
    ]
    assert (found.outcomes.completed, found.verdicts.passed, found.verdicts.failed) == (3, 3, 1)
    assert [(each.task, each.source, each.figure, each.status) for each in found.gates] == [
        ("one", "s.dialeval.yaml", 0.5, "failed"),
        ("two", "b.dialeval.yaml", 1.0, "passed"),
    ]
    assert found.settings["agent"].value == ["a=command:x --token ***"]
    assert found.notes == [
        "3 items were rerun",
        "2 notes on the suites: b.dialeval.yaml:1: x ... (`dialeval lint` shows all)",
    ]


def test_a_summary_can_be_made_again_from_disk(directory: RunDirectory) -> None:
    # what regrading, a controller of workers, and a reader months later do
    made = two_tasks(directory)
    directory.write("plan", plan_document(made))
    again = read_plan(directory.path / "plan.json").sources
    first, second = (
        summarise(
            directory, each, read_facts(directory), label=None, exit_status=0, settings={}
        ).tasks
        for each in (made, again)
    )
    assert first == second


def test_a_changed_ledger_gives_no_summary(directory: RunDirectory) -> None:
    made = two_tasks(directory)
    path = directory.path / "ledger.main.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"failed"', b'"passed"'))
    with pytest.raises(RunError, match=r"ledger\.main\.jsonl:4: the ledger was changed"):
        summarise(directory, made, read_facts(directory), label=None, exit_status=0, settings={})


@pytest.mark.parametrize(
    ("notes", "lines"),
    [
        ([], []),
        (["a"], ["1 note on the suites: a"]),
        (["a", "b"], ["2 notes on the suites: a ... (`dialeval lint` shows all)"]),
        (["a", "a"], ["1 note on the suites: a"]),  # a decorated function brings its suite's again
        (["s.yaml:3: note: a: note: b"], ["1 note on the suites: s.yaml:3: a: note: b"]),
    ],
)
def test_notes_are_one_line(notes: list[str], lines: list[str]) -> None:
    halves = [notes[:1], notes[1:]]
    assert note_lines([source([], [], notes=tuple(each)) for each in halves]) == lines
