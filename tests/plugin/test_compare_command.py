"""`dialeval baseline` and `dialeval compare`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import jsonschema
import pytest

from .conftest import Shop, persona, rubric
from .test_commands import run


def two_runs(shop: Shop, **sections: Any) -> tuple[str, str]:
    """Ids of a run of a polite clerk and of one of a rude clerk."""
    wanted = {"personas": [persona("one", "Hi"), persona("two", "Hey")], "trials": 6, **sections}
    names = []
    for said in ("Hello!", "What?"):
        shop.write("clerk.yaml", json.dumps({"otherwise": [said]}))
        shop.suite(**wanted)
        shop.run()
        names.append(shop.last_run.name)
    return names[0], names[1]


def test_a_baseline_is_written_and_fits_its_schema(shop: Shop) -> None:
    before, _ = two_runs(shop)
    result = run("baseline", before, "-o", "good.json")
    assert result.output == f"good.json: the results of {before}; commit it\n"
    document = json.loads((shop.path / "good.json").read_text(encoding="utf-8"))
    schema = json.loads(run("schema", "--baseline").output)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["tasks"][0]["agents"][0]["cases"][0]["passed"] == [True] * 6


def test_runs_and_baselines_are_compared_alike(shop: Shop) -> None:
    before, after = two_runs(shop)
    run("baseline", before, "-o", "good.json")
    shown = []
    for first in (before, f".dialeval/runs/{before}", "good.json"):
        result = run("compare", first, after)
        assert result.exit_code == 0
        shown.append(result.output)
    assert shown[0] == shown[1] == shown[2]
    assert f"before: {before}; after: {after}" in shown[0]
    assert "  pass rate   1.000   0.000  -1.000      too few cases  < 0.001  worse" in shown[0]


def test_markdown_for_a_comment(shop: Shop) -> None:
    result = run("compare", *two_runs(shop), "--markdown")
    assert result.output.startswith("**before: ")
    assert "| pass rate  | 1.000    | 0.000   | -1.000" in result.output


def test_a_threshold_decides_the_exit_status(shop: Shop) -> None:
    before, after = two_runs(shop)
    missed = run("compare", before, after, "--threshold", "5")
    assert missed.exit_code == 1
    assert "engineering threshold of shop / clerk: MISSED" in missed.output
    assert run("compare", after, before, "--threshold", "5").exit_code == 0
    assert run("compare", before, after, "--threshold", "nan").exit_code == 2


def test_a_threshold_that_nothing_can_decide_is_status_10(shop: Shop) -> None:
    before, after = two_runs(shop)
    run("baseline", after, "-o", "lost.json")
    lost = json.loads((shop.path / "lost.json").read_text(encoding="utf-8"))
    for each in lost["tasks"][0]["agents"][0]["cases"]:
        each.update(passed=[None] * 6, scores=[None] * 6, rubrics={})
    shop.write("lost.json", json.dumps(lost))
    result = run("compare", before, "lost.json", "--threshold", "5")
    assert result.exit_code == 10
    assert "shop / clerk: not decided: no case has measured trials in both runs" in result.output
    assert run("compare", before, "lost.json").exit_code == 0


def test_a_baseline_of_a_run_that_was_stopped_says_so(shop: Shop) -> None:
    before, _ = two_runs(shop)
    [ledger] = (shop.path / ".dialeval/runs" / before).glob("ledger.*")
    kept = ledger.read_bytes().splitlines(keepends=True)[:-4]
    ledger.write_bytes(b"".join(kept))
    result = run("baseline", before, "-o", "half.json")
    passed = [
        each
        for case in json.loads((shop.path / "half.json").read_text(encoding="utf-8"))["tasks"][0][
            "agents"
        ][0]["cases"]
        for each in case["passed"]
    ]
    lost = f"{passed.count(None)} trials unmeasured"
    assert result.output == f"half.json: the results of {before} ({lost}); commit it\n"


def test_two_agents_of_one_run(shop: Shop) -> None:
    shop.write("rude.yaml", "otherwise: ['What?']")
    agents = {name: {"use": "scripted", "script": f"{name}.yaml"} for name in ("clerk", "rude")}
    shop.suite(agents=agents, trials=6)
    shop.run()
    name = shop.last_run.name
    result = run("compare", name, "--agent", "clerk", "--against", "rude")
    assert "shop / rude -> clerk" in result.output
    assert "better" in result.output
    for wrong in ([name], [name, "--agent", "clerk"]):
        refused = run("compare", *wrong)
        assert refused.exit_code == 2
        assert "give a second run, or two agents: --agent NAME --against NAME" in refused.output
    unknown = run("compare", name, "--agent", "clark", "--against", "rude")
    assert unknown.exit_code == 2
    assert "has no agent 'clark' (it has clerk, rude); did you mean 'clerk'?" in unknown.output


def test_runs_that_are_not_comparable_exit_10(shop: Shop) -> None:
    before, _ = two_runs(shop)
    shop.suite(task={"id": "shop", "version": "2"})
    shop.run()
    versions = run("compare", before, shop.last_run.name)
    assert versions.exit_code == 10
    assert "not comparable: the task's version differs: 1 -> 2" in versions.output
    shop.suite(task={"id": "bank"})
    shop.run()
    suites = run("compare", before, shop.last_run.name)
    assert suites.exit_code == 10
    assert "these are runs of different suites" in suites.output


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"schema": "dialeval.baseline/9"}', "its schema is 'dialeval.baseline/9', and"),
        ('{"schema": "dialeval.baseline/1", "score": NaN}', "is no JSON"),
        ("", "is no JSON"),
    ],
)
def test_a_baseline_that_cannot_be_read(shop: Shop, content: str, says: str) -> None:
    shop.write("b.json", content)
    result = run("compare", "b.json", "b.json")
    assert result.exit_code == 2
    assert result.output.startswith("Error: b.json: ")
    assert says in result.output
    assert len(result.output.splitlines()) == 1


def test_a_run_that_is_not_there(shop: Shop) -> None:
    before, after = two_runs(shop)
    result = run("compare", before, before[:-1])
    assert result.exit_code == 2
    assert result.output.startswith(f"Error: there is no run '{before[:-1]}'")
    assert "did you mean '" in result.output
    assert after
    assert "there is no baseline 'b.json'" in run("compare", before, "b.json").output


def test_a_run_without_its_ledger_or_plan(shop: Shop) -> None:
    before, after = two_runs(shop)
    runs = shop.path / ".dialeval" / "runs"
    (runs / before / "ledger.main.jsonl").unlink()
    assert "the ledger is gone" in run("compare", before, after).output
    (runs / after / "plan.json").unlink()
    assert "no plan of a run can be read here" in run("baseline", after, "-o", "x.json").output
    assert not (shop.path / "x.json").exists()


def test_a_run_of_nothing_measured(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("nice", keyword=None, judge="it was nice")])
    shop.run()
    name = shop.last_run.name
    result = run("compare", name, name)
    assert result.exit_code == 0
    assert "1 trial unmeasured before" in result.output
    assert "nothing to compare" in result.output


def test_one_schema_at_a_time() -> None:
    assert run("schema", "--summary", "--baseline").exit_code == 2


def test_the_command_imports_nothing_heavy_to_say_what_it_can() -> None:
    code = (
        "import sys\nfrom pytest_dialeval.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not {'numpy', 'scipy', 'pydantic'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
