"""The examples of this room's pages run as they stand there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from pytest_dialeval.grading.grade import Dialogue, batched, compile_rubrics, grade
from pytest_dialeval.grading.judge import Judge
from pytest_dialeval.grading.labels import read_labels
from pytest_dialeval.grading.scripted_judge import ScriptedJudge
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.statistics.pass_k import CaseCount
from pytest_dialeval.suites.load import load_suite

from .samples import TASK, judge_rubric, run, talk

DOCS = Path(__file__).resolve().parents[2] / "docs"
FREE = talk("user: Hi", "agent: Hello, it is free of charge.")
DEAR = talk("user: Hi", "agent: Hello, it is ten dollars.")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def status(judge: Judge, name: str, transcript: Transcript) -> str:
    (compiled,) = compile_rubrics([judge_rubric(name)], builtin_matchers())
    return run(grade(compiled, Dialogue(transcript, TASK), judge)).status


def test_the_figures_of_the_scoring_page() -> None:
    page = DOCS / "explanation" / "scoring.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert (found.failed, found.attempted > 20) == (0, True)


def test_the_suite_of_the_reference_page_is_one(tmp_path: Path) -> None:
    text = blocks("reference/judge.md", "yaml")[1]
    whole = (
        "dialeval: 1\ntask: {id: t}\nagents: {a: {use: 'python:a:b'}}\npersonas:\n"
        f"  - {{id: p, script: {{states: {{start: {{say: [Hi], end: true}}}}}}}}\n{text}"
    )
    path = tmp_path / "t.dialeval.yaml"
    path.write_text(whole, encoding="utf-8")
    suite = load_suite(path, rootdir=tmp_path, matchers=builtin_matchers())
    compiled = compile_rubrics(suite.rubrics, builtin_matchers())
    assert [each.rubric.id for each in batched(compiled)] == ["tone.calm", "tone.brief"]
    assert suite.rubrics[3].spec.params["votes"] == 3


def test_the_function_of_the_calibration_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "how-to/calibrate-a-judge.md"
    space: dict[str, object] = {}
    exec(blocks(page, "python")[0], space)
    for name, language in (("a.jsonl", "json"), ("a.csv", "csv")):
        (tmp_path / name).write_text(blocks(page, language)[0], encoding="utf-8")
        (label,) = read_labels(tmp_path / name)
        verdicts = {label.about: Verdict("tone.calm", "failed")}
        space["report"](tmp_path / name, verdicts, {"tone.calm": None}, [CaseCount(1, 0)])
    assert (
        "tone.calm acceptance 1 kappa None\ncorrected no label says met" in capsys.readouterr().out
    )


def test_the_judge_of_the_reference_page() -> None:
    space: dict[str, object] = {}
    exec(blocks("reference/judge.md", "python")[0], space)
    judge = space["pytest_dialeval_judges"](None)["default"]
    assert status(judge, "flow.explain", FREE) == "passed"
    assert status(judge, "flow.explain", DEAR) == "failed"


@pytest.mark.parametrize(
    ("name", "transcript", "expected"),
    [
        ("opening.greeting", FREE, "passed"),
        ("flow.explain", FREE, "passed"),
        ("flow.explain", DEAR, "failed"),
        ("flow.confirm", FREE, "failed"),
        ("price.named", FREE, "unscored"),
    ],
)
def test_the_script_of_the_reference_page(
    tmp_path: Path, name: str, transcript: Transcript, expected: str
) -> None:
    script = blocks("reference/judge.md", "yaml")[2]
    (tmp_path / "judge.yaml").write_text(script, encoding="utf-8")
    hook = blocks("reference/judge.md", "python")[1]
    space: dict[str, object] = {"__file__": str(tmp_path / "conftest.py")}
    exec(hook, space)
    judge = space["pytest_dialeval_judges"](None)["default"]
    assert isinstance(judge, ScriptedJudge)
    assert status(judge, name, transcript) == expected
