"""What a verdict of a judge depends on: each change of it is seen."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_dialeval.grading.binding import Binding, binding, binding_of
from pytest_dialeval.grading.judge import JudgeQuestion
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.task import MatcherSpec

from .chats import SPEC
from .samples import TASK

PARAMS = {"criterion": "it is free", "votes": 3}


def judged(**more: object) -> Rubric:
    return Rubric(
        str(more.get("id", "r")),
        more.get("dimension", "completion"),
        MatcherSpec("judge", {**PARAMS, **more.get("params", {})}),
        min=more.get("min", 1),
        weight=more.get("weight", 1.0),
    )


ONE = binding(SPEC, judged())


@pytest.mark.parametrize(
    ("rubric", "changed"),
    [
        (judged(id="other", weight=3.0), ()),
        (judged(min=1.0), ()),
        (judged(min=0.5), ("rubric",)),
        (judged(dimension="safety"), ("rubric",)),
        (judged(params={"criterion": "It is free"}), ("rubric",)),
        (judged(params={"votes": 5}), ("rubric",)),
        (judged(params={"batch": True}), ("prompt", "rubric")),
    ],
)
def test_what_makes_another_rubric(rubric: Rubric, changed: tuple[str, ...]) -> None:
    assert ONE.changed(binding(SPEC, rubric)) == changed


@pytest.mark.parametrize(
    ("more", "changed"),
    [
        ({"api_key_env": "OTHER", "concurrency": 3}, ()),
        ({"model": "other"}, ("model",)),
        ({"base_url": "http://x/v1"}, ("model",)),
        ({"temperature": 0.3}, ("model",)),
        ({"temperature": None}, ("model",)),
    ],
)
def test_what_makes_another_model(more: dict[str, object], changed: tuple[str, ...]) -> None:
    assert ONE.changed(binding(replace(SPEC, **more), judged())) == changed


def test_what_may_be_shown_belongs_to_the_prompt() -> None:
    assert ONE.changed(binding(SPEC, judged(), max_context_chars=9000)) == ("prompt",)


def test_a_question_is_bound_as_its_rubric_is() -> None:
    rubric = judged()
    question = JudgeQuestion(
        "r", "it is free", "completion", TASK, (), params=rubric.spec.params, min=rubric.min
    )
    assert binding(SPEC, question) == ONE


def test_it_is_read_back_from_a_verdicts_details() -> None:
    stored = json.loads(json.dumps({"judge": {**ONE.fields(), "answered_by": "x"}, "votes": []}))
    assert binding_of(stored) == ONE
    assert (binding_of({}), binding_of({"judge": "me"})) == (None, None)
    assert binding_of({"judge": {}}) == Binding("", "", "", "")
