"""Rubrics: from what was written to records."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.matching.normal import normal
from pytest_dialeval.records.rubric import JUDGE, Rubric, Trigger
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.rubric_form import JudgeForm, RubricForm, TriggerForm
from pytest_dialeval.suites.spec import BROKEN


def read_rubric(place: Place, reading: Reading) -> Rubric | None:
    """The rubric at a place; problems are noted, None where it has no form."""
    raw = place.value
    if not isinstance(raw, Mapping):
        place.error(f"must be a rubric (id, dimension, a method, ...), not {shown(raw)}")
        return None
    keys = RubricForm.keys()
    form = place.read(RubricForm, {key: raw[key] for key in raw if key in keys})
    spec = _method(place, {key: raw[key] for key in raw if key not in keys}, reading)
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


def _method(place: Place, rest: Mapping[str, object], reading: Reading) -> MatcherSpec:
    """The one key that is no key of a rubric's own."""
    methods = [*reading.matchers, JUDGE]
    strange = [key for key in rest if key not in methods]
    for key in strange:
        guess = did_you_mean(key, [*RubricForm.keys(), *methods])
        place.at(key).error(
            f"unknown key {shown(key)} of a rubric{guess} (keys: {', '.join(RubricForm.keys())}; "
            f"methods: {', '.join(sorted(methods))})"
        )
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
        return reading.spec(place, {name: value})
    question = value if isinstance(value, dict) else {"criterion": value}
    form = place.at(JUDGE).read(JudgeForm, question)
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
    when = reading.spec(place.at("when"), form.when) if form.when else None
    return Trigger(form.probe, form.state, tuple(form.user_keyword or ()), when, form.then)
