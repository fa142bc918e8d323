"""A run held against an earlier one: worse, not worse, undecidable, not comparable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.runs.baseline import write_baseline
from pytest_dialeval.runs.opening import open_results

from .conftest import Shop, persona, rubric

STEADY = {"otherwise": ["Hello!"]}
BROKEN = {"otherwise": ["What?"]}
# Which of these is said is drawn by the seed: two of three greet.
MOODY = {"otherwise": ["Hello!", "Hello again!", "What?"]}
BASELINE = {"baseline": {"path": "baseline.json"}}


def suite(shop: Shop, replies: Any = STEADY, **sections: Any) -> None:
    shop.write("clerk.yaml", json.dumps(replies))
    wanted = {
        "personas": [persona("one", "Hi"), persona("two", "Hey"), persona("three", "Ho")],
        "trials": 4,
        **sections,
    }
    shop.suite(**wanted)


def keep(shop: Shop) -> Path:
    """Write the last run's baseline."""
    path = shop.path / "baseline.json"
    write_baseline(open_results(str(shop.last_run), shop.path, shop.path), path)
    return path


def gate(shop: Shop) -> Any:
    [found] = [each for each in shop.summary["gates"] if each["name"] == "baseline"]
    return found


def kept(shop: Shop, replies: Any = STEADY, **sections: Any) -> Path:
    """A baseline of a run with these replies."""
    suite(shop, replies, **sections)
    shop.run()
    return keep(shop)


def test_an_unchanged_agent_passes(shop: Shop) -> None:
    kept(shop)
    suite(shop, gates=BASELINE)
    result = shop.run()
    assert result.ret == 0
    assert (gate(shop)["figure"], gate(shop)["bound"], gate(shop)["n"]) == (0, 0, 12)
    result.stdout.fnmatch_lines(
        [
            "gate baseline of shop / clerk: held (pass rate 1.000 -> 1.000, p = 1.000): "
            "+0.000, wanted not worse, n=12, set by shop.dialeval.yaml"
        ]
    )


def test_a_worsened_agent_fails_its_gate_and_no_item(shop: Shop) -> None:
    kept(shop)
    suite(shop, BROKEN, gates=BASELINE)
    result = shop.run()
    assert result.ret == 1
    result.assert_outcomes(failed=0)
    result.stdout.fnmatch_lines(
        ["gate baseline of shop / clerk: MISSED (pass rate 1.000 -> 0.000, p < 0.001): -1.000, *"]
    )
    assert gate(shop)["status"] == "failed"


def test_the_unchanged_agent_with_other_seeds_passes_in_19_of_20_reruns(shop: Shop) -> None:
    kept(shop, MOODY)
    suite(shop, MOODY, gates=BASELINE)
    statuses = [shop.run(f"--dialeval-seed=rerun {number}").ret for number in range(20)]
    assert statuses.count(0) >= 19
    rates = {each["tasks"][0]["agents"][0]["pass_rate"] for each in summaries(shop)}
    assert len(rates) > 3, "seeds must matter"


def summaries(shop: Shop) -> list[Any]:
    return [json.loads((each / "summary.json").read_text(encoding="utf-8")) for each in shop.runs]


def test_a_moody_agent_that_is_worsened_fails(shop: Shop) -> None:
    kept(shop, MOODY, trials=8)
    suite(shop, BROKEN, trials=8, gates=BASELINE)
    assert shop.run("--dialeval-seed=other").ret == 1


def test_the_task_score_is_watched_too(shop: Shop) -> None:
    rubrics = [rubric("greet"), rubric("thanks", "pleasure", severity="soft")]
    kept(shop, {"otherwise": ["Hello, a pleasure!"]}, rubrics=rubrics)
    suite(shop, rubrics=rubrics, gates=BASELINE)
    assert shop.run().ret == 1
    assert gate(shop)["why"].startswith("task score 1.000 -> 0.500, p ")


def test_a_run_by_its_id_or_folder_or_a_file_by_option(shop: Shop) -> None:
    path = kept(shop)
    run = shop.last_run
    suite(shop, BROKEN)
    for given in (run.name, f".dialeval/runs/{run.name}", path.name, str(path)):
        assert shop.run(f"--dialeval-baseline={given}").ret == 1, given
        assert gate(shop)["source"] == "--dialeval-baseline"


def test_a_run_that_this_one_pushes_out_was_read_before(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(shop)
    old = shop.last_run.rename(shop.last_run.with_name("20200101-000000-abcdef"))
    suite(shop, BROKEN)
    monkeypatch.setattr("pytest_dialeval.runs.directory.KEPT", 1)
    assert shop.run(f"--dialeval-baseline={old.name}").ret == 1
    assert not old.exists()


def test_an_option_stands_above_the_suite(shop: Shop) -> None:
    kept(shop).rename(shop.path / "good.json")
    kept(shop, BROKEN)
    suite(shop, BROKEN, gates=BASELINE)
    assert shop.run().ret == 0
    assert shop.run("--dialeval-baseline=good.json").ret == 1


def test_the_project_file_may_name_it_from_rootdir(shop: Shop) -> None:
    kept(shop)
    shop.write("pyproject.toml", "[tool.dialeval]\nbaseline = 'baseline.json'\n")
    suite(shop, BROKEN)
    assert shop.run().ret == 1
    assert gate(shop)["source"] == "[tool.dialeval] baseline"


def test_too_few_trials_decide_nothing(shop: Shop) -> None:
    one = {"personas": [persona("one", "Hi")], "trials": 1}
    kept(shop, **one)
    suite(shop, gates=BASELINE, **one)
    result = shop.run()
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        ["*not decided (1 trial could not show even a fall to 0; * more trials would be needed to*"]
    )


def test_an_agent_that_always_failed_cannot_be_worse(shop: Shop) -> None:
    kept(shop, BROKEN)
    suite(shop, BROKEN, gates=BASELINE)
    assert shop.run().ret == 0


def test_a_threshold_is_called_one_and_takes_the_place_of_the_test(shop: Shop) -> None:
    one = {"personas": [persona("one", "Hi")], "trials": 1}
    kept(shop, **one)
    gates = {"baseline": {"path": "baseline.json", "max_drop": 0.2}}
    suite(shop, BROKEN, gates=gates, **one)
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*MISSED (engineering threshold: pass rate 1.000 -> 0.000): -1.000, wanted at least -0.2*"]
    )
    suite(shop, gates=gates, **one)
    assert shop.run().ret == 0


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({"task": {"id": "shop", "version": "2"}}, "the task's version differs: 1 -> 2"),
        ({"task": {"id": "other"}}, "has no task other"),
        ({"scoring": {"pass": 0.5}}, "a trial passes by another rule: no hard rubric failed -> *"),
        ({"rubrics": [rubric("greet", "Hell")]}, "rubrics were rewritten: greet"),
        ({"rubrics": [rubric("greet"), rubric("x")]}, "rubric is graded only after: x"),
        ({"rubrics": [rubric("y")]}, "*only before: greet; *only after: y"),
        ({"personas": [persona("four", "Hi")]}, "no case is in both runs"),
    ],
)
def test_what_is_not_comparable_is_undecided(shop: Shop, sections: Any, why: str) -> None:
    kept(shop)
    suite(shop, **{"gates": BASELINE, **sections})
    result = shop.run()
    assert result.ret == 10
    result.stdout.fnmatch_lines([f"*not decided (not comparable: *{why}*): no figure, *"])


def test_an_agent_that_the_baseline_lacks(shop: Shop) -> None:
    kept(shop)
    agents = {name: {"use": "scripted", "script": "clerk.yaml"} for name in ("clerk", "new")}
    suite(shop, agents=agents, gates=BASELINE)
    result = shop.run()
    assert result.ret == 10
    result.stdout.fnmatch_lines(["gate baseline of shop / new: not decided (*has no agent new*"])
    result.stdout.fnmatch_lines(["gate baseline of shop / clerk: held *"])


def test_cases_that_are_in_one_run_alone_are_left_out_and_said(shop: Shop) -> None:
    kept(shop)
    more = [persona(each, "Hi") for each in ("one", "two", "new")]
    suite(shop, personas=more, gates=BASELINE)
    assert shop.run().ret == 0
    assert gate(shop)["why"].endswith(", over 2 of 3 cases, 1 case of the baseline not here")


def test_a_selection_decides_it_only_by_option(shop: Shop) -> None:
    kept(shop)
    suite(shop, BROKEN, gates=BASELINE)
    result = shop.run("-k", "one")
    assert result.ret == 0
    assert (gate(shop)["status"], gate(shop)["why"]) == ("not decided", "selection")
    assert shop.run("-k", "one", "--dialeval-baseline=baseline.json").ret == 1


DOWN = """
from pytest_dialeval import NotMeasured

def half(message):
    if message == "Hi":
        raise NotMeasured("down")
    return "Hello!"
"""


def test_unmeasured_trials_that_would_decide_leave_it_undecided(shop: Shop) -> None:
    shop.write("down.py", DOWN)
    kept(shop)
    agents = {"clerk": {"use": "python:down.py:half"}}
    suite(shop, agents=agents, gates={**BASELINE, "unmeasured": 4})
    result = shop.run()
    assert result.ret == 10
    assert gate(shop)["why"] == "4 unmeasured trials would decide"
    threshold = {"path": "baseline.json", "max_drop": 0.3}
    suite(shop, agents=agents, gates={"baseline": threshold, "unmeasured": 4})
    assert shop.run().ret == 10
    suite(shop, agents=agents, gates={"baseline": {**threshold, "max_drop": 0.4}, "unmeasured": 4})
    assert shop.run().ret == 0


def test_nothing_measured_is_undecided(shop: Shop) -> None:
    shop.write("down.py", DOWN)
    kept(shop, personas=[persona("one", "Hi")])
    agents = {"clerk": {"use": "python:down.py:half"}}
    suite(shop, agents=agents, personas=[persona("one", "Hi")], gates=BASELINE)
    assert shop.run("--dialeval-max-unmeasured=9").ret == 10
    assert gate(shop)["why"] == "nothing was measured here"


def test_a_baseline_that_is_not_there_is_a_mistake_of_the_suite(shop: Shop) -> None:
    shop.suite(gates={"baseline": {"path": "basline.json"}})
    shop.write("baseline.json", "{}")
    result = shop.run()
    assert result.ret == 2
    line = shop.line_of("shop.dialeval.yaml", "basline.json")
    result.stdout.fnmatch_lines(
        [
            f"shop.dialeval.yaml:{line}: 'basline.json' is not there; "
            "did you mean 'baseline.json'?; *`dialeval baseline RUN -o basline.json`*"
        ]
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"schema": "dialeval.baseline/2"}', "*: its schema is 'dialeval.baseline/2', and *"),
        ("[]", "*: its schema is None, and 'dialeval.baseline/1' is read here; *"),
        ("nonsense", "*: is no JSON: *"),
        ('{"schema": "dialeval.baseline/1"}', "*: is no baseline: run_id: Field required"),
    ],
)
def test_a_baseline_that_cannot_be_read_ends_the_run_before_anybody_talks(
    shop: Shop, content: str, says: str
) -> None:
    shop.write("baseline.json", content)
    shop.suite(gates=BASELINE)
    for options in ((), ("--dialeval-baseline=baseline.json",)):
        result = shop.run(*options)
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"ERROR: baseline of *{says}"])
    assert not shop.runs


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nowhere.json", "there is no baseline 'nowhere.json'"),
        ("20260101-000000-abcdef", "there is no run '20260101-000000-abcdef'"),
    ],
)
def test_what_an_option_names_must_be_there(shop: Shop, given: str, says: str) -> None:
    shop.suite()
    result = shop.run(f"--dialeval-baseline={given}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: baseline of --dialeval-baseline: {says}*"])


def test_scores_beyond_1_and_lists_of_other_lengths_are_refused(shop: Shop) -> None:
    path = kept(shop)
    whole = json.loads(path.read_text(encoding="utf-8"))
    for key, wrong, says in (
        ("scores", [2.0] * 4, "*scores.0: Input should be less than or equal to 1"),
        ("passed", [True], "*the lists of 'one' must be as long as its trials"),
    ):
        changed = json.loads(json.dumps(whole))
        changed["tasks"][0]["agents"][0]["cases"][0][key] = wrong
        path.write_text(json.dumps(changed), encoding="utf-8")
        result = shop.run("--dialeval-baseline=baseline.json")
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"ERROR: *baseline.json: is no baseline: {says}"])


def test_a_whole_session_has_one_false_alarm_rate(shop: Shop) -> None:
    """4 of 4 trials lost is a find alone (1 of 70 shuffles), and chance among four suites."""
    for number in range(4):
        agents = {"clerk": {"use": "scripted", "script": f"clerk{number}.yaml"}}
        shop.write(f"clerk{number}.yaml", json.dumps(STEADY))
        one = [persona("p", "Hi")]
        suite(shop, name=f"s{number}", task={"id": f"t{number}"}, personas=one, agents=agents)
    shop.run()
    keep(shop)
    shop.write("clerk0.yaml", json.dumps(BROKEN))
    assert shop.run("s0.dialeval.yaml", "--dialeval-baseline=baseline.json").ret == 1
    assert shop.run("--dialeval-baseline=baseline.json").ret == 10
    statuses = [e["status"] for e in shop.summary["gates"] if e["name"] == "baseline"]
    assert statuses == ["not decided"] * 4


@pytest.mark.slow
def test_under_xdist_the_controller_decides(shop: Shop) -> None:
    kept(shop)
    for replies, status in ((BROKEN, 1), (STEADY, 0)):
        suite(shop, replies, gates=BASELINE)
        result = shop.pytester.runpytest_subprocess("-p", "dialeval", "-p", "xdist", "-n", "2")
        assert result.ret == status
        assert gate(shop)["n"] == 12
