"""Names and order of planned trials."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.planning.cases import Naming, plan_personas, plan_recordings
from pytest_dialeval.records.plan import Case, PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.slug import slug
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.records.task import MatcherSpec, Persona, Script, Task
from pytest_dialeval.records.transcript import Recording, Transcript

words = st.text() | st.text("abAB01_-/. 你", max_size=60) | st.from_regex(r"[a-z0-9_]+")


def suite(personas: Sequence[str] = (), rubrics: Sequence[str] = ("r",), task: str = "t") -> Suite:
    return Suite(
        path="/s.dialeval.yaml",
        sha256="0",
        task=Task(task),
        agents={},
        run=(),
        personas=tuple(Persona(each, Script({})) for each in personas),
        rubrics=tuple(Rubric(each, "completion", MatcherSpec("keyword")) for each in rubrics),
    )


def recording(task_id: str, index: int = 0, trial: int | None = None) -> Recording:
    return Recording(task_id, Transcript(), "/r.json", "f" * 64, index, trial)


def planned(
    made: Suite, *agents: str, source: str = "s.dialeval.yaml", show: bool = False, trials: int = 1
) -> list[PlannedTrial]:
    pairs = [(each, f"definition of {each}") for each in agents or ("a",)]
    return list(plan_personas(made, Naming(source, show), pairs, trials=trials))


# ---- names


def test_names_read_as_a_sentence() -> None:
    naming = Naming("s", show_agent=False)
    assert naming.name("improved", "hesitant", 2, 1) == "hesitant-2"
    assert naming.name("improved", "hesitant", 2, 3) == "hesitant-002"
    assert Naming("s", show_agent=True).name("improved", "hesitant", 2, 1) == "improved-hesitant-2"


@pytest.mark.parametrize(
    ("trials", "names"),
    [(1, ["p-1"]), (9, ["p-1", "p-9"]), (10, ["p-01", "p-10"]), (100, ["p-001", "p-100"])],
)
def test_numbers_are_padded_to_the_width_of_k(trials: int, names: list[str]) -> None:
    found = planned(suite(["p"]), trials=trials)
    assert [found[0].name, found[-1].name] == [names[0], names[-1]]
    assert [each.name for each in found] == sorted(each.name for each in found)
    assert [each.number for each in found] == list(range(1, trials + 1))


# ---- plans


def test_the_order_is_agent_persona_number() -> None:
    found = planned(suite(["zed", "abe"]), "new", "base", trials=2, show=True)
    assert [each.name for each in found] == [
        "new-zed-1",
        "new-zed-2",
        "new-abe-1",
        "new-abe-2",
        "base-zed-1",
        "base-zed-2",
        "base-abe-1",
        "base-abe-2",
    ]


def test_what_a_planned_trial_holds() -> None:
    (found,) = planned(suite(["p"], ["x", "y"], task="t"), "a", source="dir/s.dialeval.yaml")
    assert (found.suite, found.task, found.agent, found.persona) == (
        "dir/s.dialeval.yaml",
        "t",
        "a",
        "p",
    )
    assert (found.number, found.rubrics, found.original, found.attempt) == (1, ("x", "y"), None, 1)


def test_personas_and_rubrics_may_be_chosen() -> None:
    made = suite(["p", "q", "r"], ["x", "y"])
    found = plan_personas(
        made,
        Naming("s", False),
        [("a", "d")],
        trials=1,
        personas=["r", "p"],
        rubrics=["body", "y"],
    )
    # personas keep the suite's order, rubrics the one given
    assert [(each.persona, each.rubrics) for each in found] == [
        ("p", ("body", "y")),
        ("r", ("body", "y")),
    ]


def test_no_agents_no_trials() -> None:
    assert list(plan_personas(suite(["p"]), Naming("s", False), [], trials=3)) == []


def test_a_trial_id_says_what_it_is_and_is_the_same_tomorrow() -> None:
    (found,) = planned(suite(["hesitant"], task="live_upgrade"), "improved")
    assert re.fullmatch(r"live_upgrade\.improved\.hesitant-1\.[0-9a-f]{10}", found.id)
    assert planned(suite(["hesitant"], task="live_upgrade"), "improved")[0].id == found.id


def test_an_id_differs_by_each_part() -> None:
    naming = Naming("s", False)
    parts = ("task", "agent", "definition", "persona", 1)
    other = ("task2", "agent2", "definition2", "persona2", 2)
    ids = {naming.trial_id(*parts), Naming("s2", False).trial_id(*parts)}
    for place in range(len(parts)):
        changed = [*parts]
        changed[place] = other[place]
        ids.add(naming.trial_id(*changed))  # type: ignore[arg-type]
    assert len(ids) == 7


def test_showing_the_agent_changes_no_id() -> None:
    shown, hidden = planned(suite(["p"]), show=True), planned(suite(["p"]), show=False)
    assert [each.id for each in shown] == [each.id for each in hidden]


@given(
    st.lists(st.from_regex("[a-z0-9_]{1,3}", fullmatch=True), min_size=1, max_size=4, unique=True),
    st.lists(st.from_regex("[a-z0-9_]{1,3}", fullmatch=True), min_size=1, max_size=4, unique=True),
    st.integers(1, 12),
)
def test_ids_and_names_are_unique(agents: list[str], personas: list[str], trials: int) -> None:
    found = planned(suite(personas), *agents, trials=trials, show=True)
    count = len(agents) * len(personas) * trials
    assert len({each.id for each in found}) == len({each.name for each in found}) == count


@given(words, words, words, st.integers(1, 10**9))
def test_an_id_is_a_file_name(task: str, agent: str, persona: str, number: int) -> None:
    made = Naming("s", False).trial_id(task, agent, "d", persona, number)
    assert re.fullmatch(r"[a-z0-9_.-]+", made)
    assert len(made) <= 150


# ---- recordings


def test_a_recorded_task_is_a_case_and_a_recording_a_trial() -> None:
    found = list(
        plan_recordings(
            suite(rubrics=["reward"], task="airline"),
            Naming("s", False),
            "recorded",
            [recording("7", 0), recording("8", 1), recording("7", 2)],
        )
    )
    assert [(each.trial.name, each.recording.index) for each in found] == [
        ("7-1", 0),
        ("7-2", 2),
        ("8-1", 1),
    ]
    assert {each.trial.original for each in found} == {None}
    assert found[0].trial.rubrics == ("reward",)
    assert len({each.trial.id for each in found}) == 3


def test_recordings_are_numbered_as_their_file_does() -> None:
    found = plan_recordings(
        suite(),
        Naming("s", False),
        "recorded",
        [recording("7", 0, 2), recording("7", 1), recording("7", 2, 0), recording("7", 3, 1)],
    )
    assert [(each.trial.number, each.recording.index) for each in found] == [
        (1, 2),
        (2, 3),
        (3, 0),
        (4, 1),
    ]


def test_the_original_task_id_is_kept() -> None:
    name = "Cancel the flight, then rebook it for Tuesday and ask for a refund"
    (found,) = plan_recordings(suite(), Naming("s", False), "recorded", [recording(name)])
    assert found.trial.original == name
    assert found.trial.persona == slug(name)
    assert len(found.trial.persona) == 40
    assert found.trial.name == f"{slug(name)}-1"


def test_padding_goes_by_the_case() -> None:
    many = [recording("a", each) for each in range(10)]
    found = plan_recordings(suite(), Naming("s", False), "r", [*many, recording("b", 10)])
    names = [each.trial.name for each in found]
    assert (names[0], names[9], names[10]) == ("a-01", "a-10", "b-1")


def test_two_tasks_under_one_name_are_refused_not_pooled() -> None:
    twin = slug("A task")
    with pytest.raises(TranscriptError) as caught:
        list(
            plan_recordings(
                suite(), Naming("s", False), "r", [recording("A task"), recording(twin, 1)]
            )
        )
    assert str(caught.value) == (
        f"the recorded task ids 'A task' and '{twin}' would both be called '{twin}'; "
        "rename one of them in the recordings"
    )


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (recording("7", 0), recording("7", 0)),
        (recording("7", 0, trial=3), replace(recording("7", 5, trial=3), sha256="e" * 64)),
    ],
    ids=["a file given twice", "a trial in two files"],
)
def test_a_conversation_counts_once(first: Recording, again: Recording) -> None:
    with pytest.raises(TranscriptError) as caught:
        list(plan_recordings(suite(), Naming("s", False), "r", [first, again]))
    assert str(caught.value) == (
        f"/r.json: recording {again.index}, task '7', stands in /r.json too (recording 0); "
        "give each conversation once"
    )


def test_a_file_that_changed_gives_other_ids() -> None:
    def ids(digest: str) -> list[str]:
        made = Recording("7", Transcript(), "/r.json", digest, 0)
        return [each.trial.id for each in plan_recordings(suite(), Naming("s", False), "r", [made])]

    assert ids("a" * 64) != ids("b" * 64)


def test_a_case_has_a_name_that_is_the_same_in_every_checkout() -> None:
    case = Case("Line 4", "clerk", "rider")
    made = [Naming("s", False).trial(case, each, 2, of=3, rubrics=()).case for each in "ab"]
    assert made == [f"{slug('Line 4')}.clerk.rider"] * 2
