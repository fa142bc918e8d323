"""The commands beside pytest: `dialeval lint`, `dialeval schema`, `dialeval import`."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_dialeval.cli import main

from .conftest import SECTIONS, Shop, persona, rubric
from .played import judged, play


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


def test_a_file_of_another_name_is_told_how_to_be_called(shop: Shop) -> None:
    shop.suite()
    (shop.path / "other.yaml").write_text("dialeval: 1\n", "utf-8")

    alone, both = run("lint", "other.yaml"), run("lint", "other.yaml", "shop.dialeval.yaml")

    said = "other.yaml: suites end in .dialeval.yaml; rename the file"
    assert (alone.exit_code, alone.output.splitlines()) == (1, [said])
    assert both.exit_code == 1
    assert both.output.splitlines()[0] == said
    assert "safety is never exercised" in both.output


def test_what_other_plugins_warn_of_is_no_remark(shop: Shop) -> None:
    shop.suite()
    shop.write(
        "conftest.py",
        "import warnings\n\n"
        "def pytest_configure(config):\n    warnings.warn('loud', stacklevel=1)\n",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run("lint", "shop.dialeval.yaml").exit_code == 0
    assert not [each for each in caught if "loud" in str(each.message)]


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


def test_the_project_file_names_the_model_that_a_suite_changes(shop: Shop) -> None:
    play(shop, models={"judge": {"temperature": 0.5}})
    line = shop.line_of("shop.dialeval.yaml", "models:")

    unnamed = run("lint", ".")
    shop.write("pyproject.toml", '[tool.dialeval.models]\njudge = "python:client.py:judge"\n')
    named = run("lint", ".")

    assert (unnamed.exit_code, named.exit_code) == (1, 0)
    [said] = unnamed.output.splitlines()
    assert said.startswith(f"shop.dialeval.yaml:{line}: judge: nobody names its model; add `model`")


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
        (("openai", "nowhere.jsonl"), "skipped nowhere.jsonl: there is no such file"),
        (("tau-bench", "talks.jsonl"), "skipped talks.jsonl: is not 'tau-bench'; "),
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


# ---- calibrate


def labelled(shop: Shop, *truths: bool, name: str = "labels.jsonl", **more: str) -> str:
    """A file with labels of the last run's trials, in their order, for the rubric `stock`."""
    plan = shop.record("plan")
    ids = [each["id"] for each in plan["sources"][0]["trials"]]
    rows = [
        {
            "run": shop.last_run.name,
            "trial": trial,
            "rubric": "stock",
            "label": "met" if truth else "not_met",
            "labeller": "ann",
            "part": "acceptance",
            **more,
        }
        for trial, truth in zip(ids, truths, strict=False)
    ]
    if name.endswith(".jsonl"):
        shop.write(name, "".join(json.dumps(each) + "\n" for each in rows))
    else:
        lines = [",".join(rows[0]), *(",".join(each.values()) for each in rows)]
        shop.write(name, "\n".join(lines) + "\n")
    return name


def judged_run(shop: Shop) -> None:
    """Four trials: the judge passes the two of one, whose agent speaks of the stock."""
    play(
        shop,
        personas=[persona("one"), persona("two", "A discount?", "Thanks.")],
        rubrics=[judged("stock", "stock")],
        trials=2,
    )
    shop.run().assert_outcomes(passed=2, failed=2)


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.csv"])
def test_calibrate_shows_the_judge_beside_people(shop: Shop, name: str) -> None:
    judged_run(shop)
    result = run("calibrate", labelled(shop, True, True, False, True, name=name))
    assert result.exit_code == 0
    title, head, _, row, *rest = result.output.splitlines()
    assert title == "shop.dialeval.yaml"
    assert head.split()[:3] == ["rubric", "labels", "of"]
    assert row.split()[:4] == ["stock", "acceptance", "4", "0.75"]
    assert rest == [
        "stock: the judge's pass rate is 0.500; not corrected: "
        "the labels do not show that the judge is better than chance",
        "",
    ]


def test_calibrate_shows_what_is_stale(shop: Shop) -> None:
    judged_run(shop)
    labels = labelled(shop, True, False)
    play(shop, rubrics=[judged("stock", "lamp")], models={"judge": "openai:gpt-4o"})
    result = run("calibrate", labels)
    assert result.exit_code == 0
    assert "stock, acceptance: left out of 2 labelled trials: 2 stale (model, rubric changed)" in (
        result.output.splitlines()
    )
    assert "not corrected: all labels are stale: model, rubric changed" in result.output


def test_calibrate_on_a_rubric_that_a_rule_decides(shop: Shop) -> None:
    judged_run(shop)
    labels = labelled(shop, True, False)
    play(shop, rubrics=[rubric("stock")])
    result = run("calibrate", labels)
    assert result.exit_code == 0
    why = "a rule decides the rubric, no judge: there is nothing to calibrate"
    assert f"2 stale ({why})" in result.output


@pytest.mark.parametrize("prefix", ["", "clerk-"])
def test_calibrate_takes_a_trial_by_its_name(shop: Shop, prefix: str) -> None:
    judged_run(shop)
    by_id = labelled(shop, True, True, False, True)
    first = run("calibrate", by_id).output
    names = [f"{prefix}{each}" for each in ("one-1", "one-2", "two-1", "two-2")]
    rows = [json.loads(line) for line in (shop.path / by_id).read_text("utf-8").splitlines()]
    shop.write(
        "named.jsonl",
        "".join(
            json.dumps({**row, "trial": name}) + "\n" for row, name in zip(rows, names, strict=True)
        ),
    )
    assert run("calibrate", "named.jsonl").output == first


def test_calibrate_guesses_what_trial_was_meant(shop: Shop) -> None:
    judged_run(shop)
    result = run("calibrate", labelled(shop, True, trial="oen-1"))
    assert "has no trial 'oen-1'; did you mean 'one-1'?" in result.output


@pytest.mark.parametrize("gone", ["rubric", "suite"])
def test_calibrate_without_the_rubric(shop: Shop, gone: str) -> None:
    judged_run(shop)
    labels = labelled(shop, True, False)
    shop.suite() if gone == "rubric" else (shop.path / "shop.dialeval.yaml").unlink()
    result = run("calibrate", labels)
    assert result.exit_code == 0
    assert "2 stale (the rubric is gone, or its suite is not here)" in result.output


def test_calibrate_reads_the_runs_of_another_folder(shop: Shop) -> None:
    judged_run(shop)
    labels = labelled(shop, True)
    shop.last_run.parent.rename(shop.path / "kept")
    assert run("calibrate", labels, "--runs", "kept").exit_code == 0
    result = run("calibrate", labels)
    assert result.exit_code == 2
    assert "--runs" in result.output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"run": "20200101-000000-abcdef"}, "there is no run '20200101-000000-abcdef' in"),
        ({"run": "20200101-000000-abcdef"}, "only the last 20 are kept: copy the folder of one"),
        ({"trial": "nobody-1"}, "has no trial 'nobody-1'"),
        ({"label": "good"}, "labels.jsonl:1: label 'good' is none of met, not_met, cannot_tell"),
        ({"part": "final"}, "labels.jsonl:1: part 'final' is none of tuning, acceptance"),
    ],
)
def test_calibrate_by_wrong_labels(shop: Shop, more: dict[str, str], said: str) -> None:
    judged_run(shop)
    result = run("calibrate", labelled(shop, True, **more))
    assert result.exit_code == 1
    [line] = result.output.splitlines()
    assert line.startswith("Error: ")
    assert said in line


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("labels.txt", "x", "labels.txt:1: labels are .jsonl or .csv, not '.txt'"),
        ("labels.jsonl", "{", "labels.jsonl:1: is no JSON"),
        ("labels.csv", "run,trial\n", "labels.csv:1: no column 'rubric'"),
    ],
)
def test_calibrate_by_a_wrong_file(shop: Shop, name: str, text: str, said: str) -> None:
    judged_run(shop)
    shop.write(name, text)
    result = run("calibrate", name)
    assert result.exit_code == 1
    [line] = result.output.splitlines()
    assert said in line


def test_calibrate_with_nothing_labelled(shop: Shop) -> None:
    judged_run(shop)
    shop.write("labels.jsonl", "")
    result = run("calibrate", "labels.jsonl")
    assert result.exit_code == 0
    assert result.output == "labels.jsonl: nothing is labelled yet\n"
    assert run("calibrate", "nothing.csv").exit_code == 2


def test_calibrate_names_a_suite_and_a_setting_that_are_wrong(shop: Shop) -> None:
    judged_run(shop)
    labels = labelled(shop, True)
    shop.write("pyproject.toml", '[tool.dialeval.models]\njduge = "openai:x"\n')
    result = run("calibrate", labels)
    assert result.exit_code == 1
    assert "unknown role 'jduge'" in result.output
    (shop.path / "pyproject.toml").unlink()
    play(shop, trials=0)
    result = run("calibrate", labels)
    assert result.exit_code == 1
    assert "shop.dialeval.yaml:" in result.output


def test_calibrate_for_a_decorated_function(shop: Shop) -> None:
    play(shop, rubrics=[judged("stock", "stock")])
    shop.write(
        "test_it.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml", rubrics=["stock"])
        def test_stock(dialogue):
            pass
        """,
    )
    shop.run("test_it.py")
    result = run("calibrate", labelled(shop, True))
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "test_it.py::test_stock"
    assert lines[3].split()[:3] == ["stock", "acceptance", "1"]
