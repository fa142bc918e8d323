"""The commands beside pytest: `dialeval lint`, `dialeval schema`, `dialeval import`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_dialeval.cli import main

from .conftest import SECTIONS, Shop, persona, rubric


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert "Traceback" not in result.output
    return result


def test_a_sound_suite_with_its_notes(shop: Shop) -> None:
    shop.suite()

    result = run("lint", ".")

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "shop.dialeval.yaml:6: note: safety is never exercised: no rubric has dimension: safety",
        "1 suite without errors, 1 note",
    ]


def test_errors_with_their_lines_and_nothing_else(shop: Shop) -> None:
    shop.suite(trials=0, rubrics=[rubric("greet", keyword={"sum": ["x"]})])

    result = run("lint", "shop.dialeval.yaml")

    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert [each.split(":")[0] for each in lines] == ["shop.dialeval.yaml"] * 2
    assert "'sum'" in lines[0]
    assert "trials must be a whole number" in lines[1]


def test_agents_that_cannot_be_made_are_errors_at_their_lines(shop: Shop) -> None:
    shop.write("own.py", "def shop(message):\n    return 'Hello'\n")
    shop.suite(
        agents={
            "good": {"use": "python:own.py:shop"},
            "bad": {"use": "python:own.py:shpo"},
            "gone": {"use": "python:nothing_of_this_name:shop"},
        }
    )
    shop.write(
        "test_body.py",
        "from pytest_dialeval import dialogue_case\n\n"
        '@dialogue_case("shop.dialeval.yaml")\ndef test_body(dialogue): ...\n',
    )
    line = shop.line_of("shop.dialeval.yaml", '"bad"')

    result = run("lint", ".")

    assert result.exit_code == 1
    bad, gone, note = result.output.splitlines()  # each once, though the body brings it again
    assert bad.startswith(f"shop.dialeval.yaml:{line}: agent 'bad': ")
    assert "did you mean 'shop'?" in bad
    assert gone.startswith(f"shop.dialeval.yaml:{line}: agent 'gone': ")
    assert "nothing_of_this_name" in gone
    assert ": note: " in note


def test_lint_starts_no_program(shop: Shop) -> None:
    shop.suite(agents={"own": {"use": "command:touch started"}})

    assert run("lint", ".").exit_code == 0
    assert not (shop.path / "started").exists()


def test_matchers_and_agents_of_conftest_are_known(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        "def loud(view) -> bool:\n    return True\n\n"
        "def pytest_dialeval_matchers(config):\n    return {'loud': loud}\n\n"
        "def pytest_dialeval_agents(config):\n    return {'own': lambda message: 'Hi'}\n",
    )
    shop.suite(agents=None, rubrics=[rubric("greet", keyword=None, loud={})])

    assert run("lint", ".").exit_code == 0


@pytest.mark.parametrize(
    "ini", ["filterwarnings = error", "addopts = -ra --strict-markers -v", "addopts = -qq"]
)
def test_a_projects_own_settings_of_pytest_do_no_harm(shop: Shop, ini: str) -> None:
    shop.pytester.makeini(f"[pytest]\n{ini}\n")
    shop.suite()

    assert run("lint", ".").output.splitlines()[-1] == "1 suite without errors, 1 note"


def test_lint_obeys_the_projects_agents_and_settings(shop: Shop) -> None:
    shop.suite()
    shop.pytester.makeini("[pytest]\ndialeval_trials = none\n")

    assert run("lint", ".").exit_code == 2


def test_a_folder_without_suites(shop: Shop) -> None:
    result = run("lint", ".")

    assert result.exit_code == 1
    assert result.output == "no suite found (they end in .dialeval.yaml)\n"


def test_test_files_beside_suites_do_not_run(shop: Shop) -> None:
    shop.suite()
    shop.write("test_other.py", "def test_other():\n    open('ran', 'w').close()\n")

    assert run("lint", ".").exit_code == 0
    assert not (shop.path / "ran").exists()
    assert not (shop.path / ".dialeval").exists()


def test_a_path_that_is_not_there(shop: Shop) -> None:
    result = run("lint", "nowhere")

    assert result.exit_code == 2
    assert "nowhere" in result.output


def test_lint_as_a_program(shop: Shop) -> None:
    shop.suite()
    program = Path(sys.executable).with_name("dialeval")
    if not program.is_file():
        pytest.skip("the console script is not installed")

    done = subprocess.run([program, "lint", "."], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "1 suite without errors, 1 note"


def test_the_schema_of_suites_takes_ours(shop: Shop) -> None:
    schema = json.loads(run("schema").output)
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.Draft202012Validator(schema).validate(dict(SECTIONS))


def test_the_schema_of_suites_takes_every_example() -> None:
    schema = json.loads(run("schema").output)
    examples = Path(__file__).resolve().parents[2] / "example_suites"

    suites = sorted(examples.rglob("*.dialeval.yaml"))

    assert suites
    for path in suites:
        document = yaml.load(path.read_bytes(), yaml.CSafeLoader)
        jsonschema.Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize(
    "change",
    [{"trails": 2}, {"trials": "two"}, {"rubrics": [{"id": "x", "dimension": "nice"}]}],
)
def test_the_schema_of_suites_refuses_mistakes(change: dict[str, object]) -> None:
    schema = json.loads(run("schema").output)

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**SECTIONS, **change})


def test_both_schemas_name_their_draft() -> None:
    for arguments in (("schema",), ("schema", "--summary")):
        schema = json.loads(run(*arguments).output)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def talks(shop: Shop, *tasks: str) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    lines = [json.dumps({"task_id": each, "messages": said}) for each in tasks]
    shop.write("talks.jsonl", "\n".join(lines) + "\n")


def test_import_writes_traces_that_a_suite_can_grade(shop: Shop) -> None:
    talks(shop, "a", "b")

    result = run("import", "openai", "talks.jsonl", "--out", "traces")

    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "2 traces written to traces"
    paths = sorted((shop.path / "traces").glob("*.jsonl"))
    assert len(paths) == 2
    sources = [{"format": "dialeval", "path": str(each)} for each in paths]
    shop.suite(agents=None, personas=None, transcripts=sources)
    shop.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("openia", "talks.jsonl"), "did you mean 'openai'?"),
        (("openai", "nowhere.jsonl"), "nowhere.jsonl"),
        (("tau-bench", "talks.jsonl"), "talks.jsonl"),
    ],
)
def test_import_of_what_cannot_be_read(shop: Shop, arguments: tuple[str, str], said: str) -> None:
    talks(shop, "a")

    result = run("import", *arguments, "--out", "traces")

    assert result.exit_code == 1
    assert said in result.output


def test_import_into_a_file(shop: Shop) -> None:
    talks(shop, "a")
    shop.write("traces", "in the way")

    result = run("import", "openai", "talks.jsonl", "--out", "traces")

    assert result.exit_code == 1
    assert "traces" in result.output


def test_the_version_and_help() -> None:
    assert run("--version").output.startswith("pytest-dialeval, version ")
    for command in ("lint", "schema", "import"):
        assert command in run("--help").output


# ---- baseline and compare


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
    assert (
        "  pass rate   1.000     0.000    -1.000        too few cases  < 0.001  worse" in shown[0]
    )


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
    assert result.output.startswith(f"Error: there is no run '{before[:-1]}'; did you mean '")
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
