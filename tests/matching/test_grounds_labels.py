"""A list's own markers are no ground for a number."""

from __future__ import annotations

import pytest

from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.compiling import compile_spec
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import Turn


@pytest.mark.parametrize(
    ("prompt", "said", "score"),
    [
        ("1. 问好\n2. 说明升级\n3. 道别", "升级要收2元。", 0.0),
        ("Steps:\n1. greet\n7. explain", "It costs $7.", 0.0),
        ("The fee is 7 dollars.", "It costs $7.", 1.0),
        ("1. 升级费是9元", "升级要收9元。", 1.0),
    ],
)
def test_markers_of_the_prompts_list(prompt: str, said: str, score: float) -> None:
    spec = MatcherSpec("number_whitelist", {"prompt": True, "counts_up_to": 0})
    check = compile_spec(spec, builtin_matchers())
    view = View((Turn(1, "agent", said, 1),), language="zh", prompt=prompt)
    assert check(view).score == score
