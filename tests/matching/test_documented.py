"""docs/reference/matchers.md shows every matcher, and what it shows is accepted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.matching.asking import MATCHERS, problems

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/matchers.md"
TEXT = PAGE.read_text(encoding="utf-8")
SHOWN = [
    (name, value)
    for block in re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.M | re.S)
    for name, value in yaml.safe_load(block).items()
]


@pytest.mark.parametrize(("name", "value"), SHOWN)
def test_what_is_shown_is_accepted(name: str, value: object) -> None:
    assert problems(name, value) == {}


def test_every_matcher_is_shown() -> None:
    assert {name for name, _ in SHOWN} == set(MATCHERS) - {"any", "not"}


@pytest.mark.parametrize("name", sorted(set(MATCHERS) - {"all", "any", "not"}))
def test_every_key_is_explained(name: str) -> None:
    section = TEXT.split(f"\n## {name}\n")[1].split("\n## ")[0]
    for key, field in MATCHERS[name].params.model_fields.items():
        if key not in ("by", "turns"):
            assert re.search(rf"\b{field.alias or key}\b", section), key
