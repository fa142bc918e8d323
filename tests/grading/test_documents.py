"""The examples of this room's pages run as they stand there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from pytest_dialeval.grading.grade import Dialogue, compile_rubrics, grade
from pytest_dialeval.grading.judge import Judge
from pytest_dialeval.grading.scripted_judge import ScriptedJudge
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.records.transcript import Transcript

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
    script = blocks("reference/judge.md", "yaml")[1]
    (tmp_path / "judge.yaml").write_text(script, encoding="utf-8")
    hook = blocks("reference/judge.md", "python")[1]
    space: dict[str, object] = {"__file__": str(tmp_path / "conftest.py")}
    exec(hook, space)
    judge = space["pytest_dialeval_judges"](None)["default"]
    assert isinstance(judge, ScriptedJudge)
    assert status(judge, name, transcript) == expected
