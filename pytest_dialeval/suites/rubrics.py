"""Rubrics: from what was written to records."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.wording import unknown_key
from pytest_dialeval.records.rubric import JUDGE, Rubric, Trigger
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.rubric_form import JudgeForm, RubricForm, TriggerForm
from pytest_dialeval.suites.spec import BROKEN
from pytest_dialeval.suites.suite_form import SuiteForm
from pytest_dialeval.suites.wording import Level, level, misplaced


def read_rubric(place: Place, reading: Reading) -> Rubric | None:
    """The rubric at a place; problems are noted, None where it has no form."""
    raw = place.value
    if not isinstance(raw, Mapping):
        place.error(f"must be a rubric (id, dimension, a method, ...), not {shown(raw)}")
        return None
    own = {key: raw[key] for key in raw if key in RubricForm.keys()}
    rest = {key: raw[key] for key in raw if key not in own}
    strange = [key for key in rest if key not in reading.matchers and key != JUDGE]
    form = place.read(RubricForm, own, around=_around(reading), strange=strange)
    spec = _method(place, rest, reading)
    trigger = _trigger(place.at("trigger"), form.trigger, reading) if form else None
    if form is None:
        return None
    return Rubric(
        id=form.id,
        dimension=form.dimension,
        spec=spec,
        weight=form.weight,
        severity=form.severity,
        trigger=trigger,
        min=form.min,
        tags=tuple(form.tags),
        file=place.source.file,
        line=place.line,
    )


def _around(reading: Reading) -> tuple[Level, ...]:
    """The mappings round what a rubric holds."""
    return level(RubricForm, *reading.matchers, JUDGE), level(SuiteForm)


def _method(place: Place, rest: Mapping[str, object], reading: Reading) -> MatcherSpec:
    """The one key that is no key of a rubric's own."""
    methods = [*reading.matchers, JUDGE]
    strange = [key for key in rest if key not in methods]
    for key in strange:
        hint = misplaced(key, [level(SuiteForm)])
        text = unknown_key(
            key, RubricForm.noun, RubricForm.keys(), methods=sorted(methods), hint=hint
        )
        place.at(key).error(text)
    found = [key for key in rest if key in methods]
    if len(found) == 1:
        return _spec(place, found[0], rest[found[0]], reading)
    if found:
        place.error(
            f"a rubric has one method, not {len(found)} ({', '.join(found)}): "
            "split it, or combine them under all: or any:"
        )
    elif not strange:
        place.error(f"a rubric needs a method: one of {', '.join(sorted(methods))}")
    return BROKEN


def _spec(place: Place, name: str, value: object, reading: Reading) -> MatcherSpec:
    if name != JUDGE:
        return reading.spec(place, {name: value}, _around(reading))
    question = value if isinstance(value, dict) else {"criterion": value}
    form = place.at(JUDGE).read(JudgeForm, question, around=_around(reading))
    return MatcherSpec(JUDGE, form.model_dump(exclude_none=True)) if form else BROKEN


def _trigger(place: Place, form: TriggerForm | None, reading: Reading) -> Trigger | None:
    if form is None:
        return None
    given = [
        key for key in ("probe", "state", "user_keyword", "when") if getattr(form, key) is not None
    ]
    if len(given) != 1:
        has = f"both {' and '.join(given)}" if given else "none of them"
        place.error(f"a trigger has exactly one of probe, state, user_keyword, when; it has {has}")
        return None
    for index, word in enumerate(form.user_keyword or ()):
        if not normal(word).text.strip():
            place.at("user_keyword", index).error(f"{shown(word)} holds nothing that could be said")
    around = (level(TriggerForm), *_around(reading))
    when = reading.spec(place.at("when"), form.when, around) if form.when else None
    return Trigger(form.probe, form.state, tuple(form.user_keyword or ()), when, form.then)
