"""Follow-up rounds: from what was written to records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from pydantic import ValidationError

from pytest_dialeval.records.follow_up import (
    ANCHOR,
    FIELDS,
    MAX_ROUNDS,
    REQUEST,
    Anchor,
    Behaviour,
    Profile,
    Rounds,
)
from pytest_dialeval.records.task import Noise, Persona, Script
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.suites.behaviours import BEHAVIOURS
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.profiles import DEFAULT, PROFILES
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.rounds_form import ProfileForm, RoundsForm, RoundsPersonaForm
from pytest_dialeval.suites.task_form import TaskForm
from pytest_dialeval.suites.wording import there

_OF_SCRIPTS = ("script", "probes")
_BLANK = "the line is blank once its variables are filled in"


def has_rounds(suite: Place) -> bool:
    """Whether the suite follows up a request, however well that is written."""
    return suite.at("task", "rounds").value is not None


def rounds_of_task(form: TaskForm) -> int:
    """The most user messages; the default is another one where rounds follow a request."""
    given = form.rounds is None or "max_rounds" in form.model_fields_set
    return form.max_rounds if given else MAX_ROUNDS


def read_rounds(task: Place, reading: Reading) -> Rounds | None:
    """The rounds of a task; problems are noted, None where they have no form."""
    place = task.at("rounds")
    form = None
    with suppress(ValidationError):  # noted where the whole suite is read
        form = RoundsForm.model_validate(place.value)
    if form is None:
        return None
    own = _behaviours(place.at("behaviours"), form, _language(task), reading)
    known = {**BEHAVIOURS, **own}
    profile = _profile(place, known)
    request = reading.fill(place.at("request"), form.request)
    if not request.strip():
        place.at("request").error("the request is blank once its variables are filled in")
    anchors = _anchors(place.at("anchor_followups"), form, _last(task), reading)
    if profile is None:
        return None
    weighed = {each: known[each] for each in profile.weights if each in known}
    for index, each in enumerate(form.behaviours):
        if each.id not in weighed:
            text = f"behaviour {each.id!r} never comes: profile {profile.id!r} gives it no weight"
            place.at("behaviours", index, "id").error(
                f"{text}; write a profile of your own, with weights"
            )
    if len(weighed) < len(profile.weights):
        return None  # what could not be drawn without the misspelt ones is no news
    return Rounds(request, profile, weighed, anchors)


def _language(task: Place) -> str:
    language = task.at("language").value
    return language if isinstance(language, str) else "en"


def _last(task: Place) -> int | None:
    """The last round; None where the task does not tell."""
    try:
        return rounds_of_task(TaskForm.model_validate(task.value))
    except ValidationError:
        return None


def _behaviours(
    place: Place, form: RoundsForm, language: str, reading: Reading
) -> dict[str, Behaviour]:
    found: dict[str, Behaviour] = {}
    for index, each in enumerate(form.behaviours):
        at = place.at(index)
        if why := _taken(each.id, found):
            at.at("id").error(f"behaviour {each.id!r} {why}: rename it")
        lines = tuple(
            reading.fill(at.at("say", number), line, later=FIELDS)
            for number, line in enumerate(each.say)
        )
        for number, line in enumerate(lines):
            if not line.strip():
                at.at("say", number).error(_BLANK)
        goal = reading.fill(at.at("goal"), each.goal)
        found[each.id] = Behaviour(each.id, goal, {language: lines} if lines else {})
    return found


def _taken(name: str, found: Collection[str]) -> str:
    if name in BEHAVIOURS:
        return "comes with the plugin"
    if name in (REQUEST, ANCHOR):
        return f"is what the state of {'round 1' if name == REQUEST else 'an anchor'} is called"
    return "is there twice" if name in found else ""


def _profile(rounds: Place, behaviours: Mapping[str, Behaviour]) -> Profile | None:
    place = rounds.at("profile")
    written = place.value
    if written is None:
        return PROFILES[DEFAULT]
    if isinstance(written, str):
        if written not in PROFILES:
            guess = f"{did_you_mean(written, PROFILES)} ({there(PROFILES)})"
            place.error(f"no profile {shown(written)}{guess}; or write one: id, tone, weights")
        return PROFILES.get(written)
    form = place.read(ProfileForm)
    if form is None:
        return None
    if form.id in PROFILES:
        place.at("id").error(f"profile {form.id!r} comes with the plugin: rename yours")
    unknown = [each for each in form.weights if each not in behaviours]
    for name in unknown:
        guess = f"{did_you_mean(name, behaviours)} ({there(behaviours)})"
        place.at("weights", name).error(f"no behaviour {name!r}{guess}")
    if unknown:
        return None  # what the others alone could not draw is no news
    return Profile(form.id, form.tone, form.weights, form.repeats)


def _anchors(
    place: Place, form: RoundsForm, last: int | None, reading: Reading
) -> dict[int, Anchor]:
    found: dict[int, Anchor] = {}
    for key, each in form.anchor_followups.items():
        at, number = place.at(key), int(key)
        if last is not None and not 2 <= number <= last:
            why = "round 1 is the request" if number < 2 else f"task.max_rounds is {last}"
            allowed = f"2 to {last}" if last > 1 else "there is none"
            at.error(f"round {key} can have no anchor: {why} (allowed: {allowed})")
        elif number in found:
            at.error(f"round {number} has two anchors: remove one")
        instruction = reading.fill(at.at("instruction"), each.instruction)
        if not instruction.strip():
            at.at("instruction").error(_BLANK)
        expected = reading.fill(at.at("expected_agent_behavior"), each.expected_agent_behavior)
        found[number] = Anchor(instruction, reading.fill(at.at("intent"), each.intent), expected)
    return found


# ---- who follows up


def stand_in(rounds: Rounds, place: Place) -> Persona:
    """The one persona of a suite that gives none: it is called as the profile is."""
    name = re.sub("[^a-z0-9]+", "_", rounds.profile.id.lower()).strip("_") or "user"
    file, line = place.source.file, place.line
    return Persona(name, Script({}), personality=rounds.profile.tone, line=line, file=file)


def read_rounds_persona(place: Place) -> Persona | None:
    """A persona that has no script; problems are noted, None where it has no form."""
    written = place.value
    if isinstance(written, dict):
        for key in _without(written):
            place.at(key).error(
                f"a persona of a suite with task.rounds has no {key!r}: the rounds say what comes; "
                "a message by hand is an anchor (task.rounds.anchor_followups)"
            )
        written = {name: each for name, each in written.items() if name not in _OF_SCRIPTS}
    form = place.read(RoundsPersonaForm, written)
    if form is None:
        return None
    return Persona(
        id=form.id,
        script=Script({}),
        personality=form.personality,
        traits=form.traits,
        noise=Noise(form.noise.rate, tuple(form.noise.kinds)),
        tags=tuple(form.tags),
        line=place.line,
        file=place.source.file,
    )


def _without(written: Mapping[str, object]) -> Iterator[str]:
    return (each for each in _OF_SCRIPTS if each in written)
