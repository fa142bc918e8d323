"""What is wrong with a persona whatever the rest of the suite says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_dialeval.records.task import END, USER_TURN, Persona, Probe, Script, State
from pytest_dialeval.records.wording import closest, did_you_mean
from pytest_dialeval.suites.remark import Remark
from pytest_dialeval.suites.wording import there

START = "start"  # where a script begins that doesn't say where


def persona_remarks(
    persona: Persona, *, max_rounds: int | None, modelled: bool
) -> Iterator[Remark]:
    """Errors of one persona; `modelled`: a model words the lines, so that a goal is enough."""
    if persona.script.states:  # where rounds follow a request, personas have none
        yield from _graph_remarks(persona.script, modelled)
    for name, state in persona.script.states.items():
        path = ("script", "states", name)
        for each in _state_remarks(state, persona.script, max_rounds, modelled):
            yield each.below(*path)
    yield from _probe_remarks(persona, max_rounds)
    if persona.noise.rate > 0 and not persona.noise.kinds:
        yield Remark(
            ("noise", "rate"),
            "noise with a rate needs kinds: some of filler, asr, broken, interruption",
        )


def _graph_remarks(script: Script, modelled: bool) -> Iterator[Remark]:
    states = script.states
    if script.start not in states:
        yield _no_start(script)
        return
    reached = _reached(
        {script.start}, {name: _meant(each, states) for name, each in states.items()}
    )
    # A name that leads nowhere, and is not told by its likeness, may mean any of the others.
    lost = reached - states.keys() - {END}
    for name in () if lost else states:
        if name not in reached and name != END:
            text = f"state {name!r} is unreachable from {script.start!r}: add a transition to it"
            yield Remark(("script", "states", name), text)
    ending = _ending(states, modelled)
    if dead := [name for name in states if name in reached and name not in ending]:
        yield _dead_end(dead)


def _no_start(script: Script) -> Remark:
    text = f"no state {script.start!r} to start in"
    if script.start != START:
        return Remark(("script", "start"), f"{text}{_guess(script.start, script.states)}")
    first = next(iter(script.states))
    remedy = f"rename the first one `{START}`, or write `start: {first}` in the script"
    return Remark(("script",), f"{text} ({there(script.states)}): {remedy}")


def _dead_end(dead: list[str]) -> Remark:
    named = f"state {dead[0]!r} has" if len(dead) == 1 else f"states {_listed(dead)} have"
    text = f"{named} no way to an end: write `end: true` in a state, or a transition to `end`"
    return Remark(("script", "states", dead[-1]), text)


def _ending(states: Mapping[str, State], modelled: bool) -> set[str]:
    """States from which the conversation can end; a missing target may be an end once mended.

    A model may end it where the script has no way on.
    """
    back: dict[str, set[str]] = {}
    for name, state in states.items():
        for target in _targets(state):
            back.setdefault(target, set()).add(name)
    ends = {name for name, state in states.items() if state.end or (modelled and not state.next)}
    return _reached(ends | (back.keys() - states.keys()), back)


def _reached(start: Iterable[str], ways: Mapping[str, set[str]]) -> set[str]:
    reached = set(start)
    waiting = list(reached)
    while waiting:
        new = ways.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def _targets(state: State) -> set[str]:
    return {each.to for each in state.next}


def _meant(state: State, states: Mapping[str, State]) -> set[str]:
    """Where its transitions lead once misspelt names are corrected."""
    known = [*states, END]
    targets = _targets(state)
    return {each if each in known else closest(each, known) or each for each in targets}


def _state_remarks(
    state: State, script: Script, max_rounds: int | None, modelled: bool
) -> Iterator[Remark]:
    if state.id == END:
        yield Remark((), "`end` is no name for a state: a transition to it leaves; rename it")
    if state.end and state.next:
        yield Remark(("next",), "a state with `end: true` goes nowhere: remove next, or end")
    if not state.say and not (modelled and state.goal.strip()):
        yield Remark((), _speechless(state, modelled))
    for index, line in enumerate(state.say):
        if not line.strip():
            yield Remark(("say", index), "the line is blank once its variables are filled in")
    yield from _transition_remarks(state, script, max_rounds)


def _speechless(state: State, modelled: bool) -> str:
    text = f"state {state.id!r} has nothing to say: give it lines under `say`"
    if modelled:
        return f"{text}, or tell the model what it wants there (`goal`)"
    more = "" if state.goal else " and a goal"
    how = "`models: {user: ...}` or --dialeval-model user=openai:NAME"
    return f"{text}, or a model for the role user ({how}){more}"


def _transition_remarks(state: State, script: Script, max_rounds: int | None) -> Iterator[Remark]:
    opened = False
    for index, each in enumerate(state.next):
        path = ("next", index)
        if each.to != END and each.to not in script.states:
            text = f"no state {each.to!r}{_guess(each.to, [*script.states, END])}"
            yield Remark((*path, "to"), text)
        if each.when is None:
            opened = True
            continue
        if opened:
            yield Remark(path, "never taken: a transition without `when` stands before it")
        if each.weight != 1:
            yield Remark((*path, "weight"), "weight counts only where there is no `when`")
        if each.when.method == USER_TURN:
            yield from _late(("next", index, "when"), each.when.params["at_least"], max_rounds)


def _late(path: tuple[str | int, ...], turn: object, max_rounds: int | None) -> Iterator[Remark]:
    if max_rounds is not None and isinstance(turn, int) and turn > max_rounds:
        text = f"user turn {turn} never comes: max_rounds is {max_rounds}; lower it, or raise "
        text += "task.max_rounds"
        yield Remark(path, text)


def _probe_remarks(persona: Persona, max_rounds: int | None) -> Iterator[Remark]:
    ids: set[str] = set()
    turns: dict[int, str] = {}
    for index, probe in enumerate(persona.probes):
        path = ("probes", index)
        if probe.id in ids:
            yield Remark((*path, "id"), f"probe {probe.id!r} is there twice: rename one")
        ids.add(probe.id)
        for each in _one_probe(probe, persona.script, max_rounds):
            yield each.below(*path)
        turn = probe.at_user_turn
        if turn is not None and turn in turns:
            text = f"probes {turns[turn]!r} and {probe.id!r} both take user turn {turn}: move one"
            yield Remark((*path, "at_user_turn"), text)
        elif turn is not None:
            turns[turn] = probe.id


def _one_probe(probe: Probe, script: Script, max_rounds: int | None) -> Iterator[Remark]:
    if (probe.at_user_turn is None) == (probe.on_state is None):
        has = "has neither" if probe.on_state is None else "has both"
        text = f"probe {probe.id!r} needs at_user_turn or on_state, one of them; it {has}"
        yield Remark((), text)
    yield from _late(("at_user_turn",), probe.at_user_turn, max_rounds)
    if probe.on_state is not None and probe.on_state not in script.states:
        text = f"no state {probe.on_state!r}{_guess(probe.on_state, script.states)}"
        yield Remark(("on_state",), text)
    if not probe.say.strip():
        yield Remark(("say",), "the line is blank once its variables are filled in")


def _guess(name: str, known: Iterable[str]) -> str:
    return f"{did_you_mean(name, known)} ({there(known)})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(each) for each in names)
