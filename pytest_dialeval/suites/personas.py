"""Personas: from what was written to records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_dialeval.records.task import (
    USER_TURN,
    MatcherSpec,
    Noise,
    Persona,
    Probe,
    Script,
    State,
    Transition,
)
from pytest_dialeval.suites.persona_form import (
    PersonaForm,
    ScriptForm,
    StateForm,
    TransitionForm,
    UserTurnForm,
)
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.spec import BROKEN
from pytest_dialeval.suites.split_lines import note_split
from pytest_dialeval.suites.suite_form import SuiteForm
from pytest_dialeval.suites.wording import level

# The mappings round a transition's condition.
_AROUND = (
    level(TransitionForm),
    level(StateForm),
    level(ScriptForm),
    level(PersonaForm),
    level(SuiteForm),
)


def read_persona(place: Place, reading: Reading) -> Persona | None:
    """The persona at a place; problems are noted, None where it has no form."""
    form = place.read(PersonaForm, around=_AROUND[-1:])
    if form is None:
        _glean(place, place.value, reading)
        return None
    return Persona(
        id=form.id,
        script=_script(place.at("script"), form.script, reading),
        personality=form.personality,
        traits=form.traits,
        probes=tuple(_probes(place.at("probes"), form, reading)),
        noise=Noise(form.noise.rate, tuple(form.noise.kinds)),
        tags=tuple(form.tags),
        line=place.line,
        file=place.source.file,
    )


def _probes(place: Place, form: PersonaForm, reading: Reading) -> Iterator[Probe]:
    for index, each in enumerate(form.probes):
        say = reading.fill(place.at(index, "say"), each.say)
        yield Probe(each.id, say, each.at_user_turn, each.on_state)


def _script(place: Place, form: ScriptForm, reading: Reading) -> Script:
    states = {
        name: _state(place.at("states", name), name, each, reading)
        for name, each in form.states.items()
    }
    return Script(states, form.start, tuple(form.covers_flow_nodes))


def _state(place: Place, name: str, form: StateForm, reading: Reading) -> State:
    note_split(place.at("say"), form.say)
    lines = (
        reading.fill(place.at("say", index), line) if "{" in line or "}" in line else line
        for index, line in enumerate(form.say)
    )
    transitions = (
        Transition(each.to, _when(place.at("next", index, "when"), each, reading), each.weight)
        for index, each in enumerate(form.next)
    )
    goal = reading.fill(place.at("goal"), form.goal) if form.goal else form.goal
    return State(name, tuple(lines), goal, tuple(transitions), form.end)


def _when(place: Place, form: TransitionForm, reading: Reading) -> MatcherSpec | None:
    return None if form.when is None else _condition(place, form.when, reading)


def _condition(place: Place, written: Mapping[str, object], reading: Reading) -> MatcherSpec:
    if USER_TURN in written:
        return _user_turn(place.at(USER_TURN), written[USER_TURN])
    return reading.spec(place, written, _AROUND)


def _user_turn(place: Place, value: object) -> MatcherSpec:
    written = value if isinstance(value, dict) else {"at_least": value}
    form = place.read(UserTurnForm, written, around=_AROUND)
    return MatcherSpec(USER_TURN, {"at_least": form.at_least}) if form else BROKEN


def _glean(place: Place, value: object, reading: Reading) -> None:
    """Note what is wrong with lines and matchers of a persona that has no form."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            _glean(place.at(index), each, reading)
    if not isinstance(value, dict):
        return
    for key, each in value.items():
        at = place.at(key)
        if key == "when" and isinstance(each, dict) and len(each) == 1:
            _condition(at, each, reading)
        elif key == "say":
            for index, line in enumerate(each if isinstance(each, list) else [each]):
                reading.fill(at.at(index), line if isinstance(line, str) else "")
        else:
            _glean(at, each, reading)
