"""What a verdict of a judge depends on besides the transcript, and a calibration with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from pytest_dialeval import __version__
from pytest_dialeval.grading.judge import JudgeQuestion
from pytest_dialeval.grading.judge_prompt import prompt_digest
from pytest_dialeval.records.model import ModelSpec
from pytest_dialeval.records.rubric import Rubric

_digest_of_prompt = lru_cache(maxsize=64)(prompt_digest)


ByRule = Literal["rule"]
BY_RULE: ByRule = "rule"  # no judge decides the rubric


@dataclass(frozen=True, slots=True)
class Binding:
    """Where one of these changes, the judge is another one."""

    model: str  # endpoint, name and temperature
    prompt: str  # digest of the prompt's wording and form
    rubric: str  # digest of dimension, min and all below `judge:`
    plugin: str  # our version

    def fields(self) -> dict[str, str]:
        """As it stands in a verdict's details, under `judge`."""
        return asdict(self)

    def changed(self, other: Binding) -> tuple[str, ...]:
        """What differs: `model`, `prompt`, `rubric`, `plugin`."""
        names = (each.name for each in fields(self))
        return tuple(each for each in names if getattr(self, each) != getattr(other, each))


def binding(
    spec: ModelSpec,
    rubric: Rubric | JudgeQuestion,
    *,
    max_context_chars: int | None = None,
    briefed: bool = False,
) -> Binding:
    """The binding of verdicts by this model about this rubric.

    `briefed`: whether its questions have a briefing; a question says so itself.
    """
    briefed = briefed or (isinstance(rubric, JudgeQuestion) and bool(rubric.briefing))
    params = rubric.spec.params if isinstance(rubric, Rubric) else rubric.params
    where = f"@{spec.base_url}" if spec.base_url else ""
    temperature = "its own" if spec.temperature is None else f"{spec.temperature:g}"
    return Binding(
        model=f"{spec.endpoint}:{spec.model}{where}, temperature {temperature}",
        prompt=_digest_of_prompt(
            batch=params.get("batch") is True,
            max_context_chars=max_context_chars,
            briefed=briefed,
        ),
        rubric=_digest([rubric.dimension, params, float(rubric.min)]),
        plugin=__version__,
    )


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def binding_of(details: Mapping[str, object]) -> Binding | None:
    """The binding that a verdict was made under; None where its judge says nothing."""
    kept = details.get("judge")
    if not isinstance(kept, Mapping):
        return None
    return Binding(**{each.name: str(kept.get(each.name, "")) for each in fields(Binding)})
