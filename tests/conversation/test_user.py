from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.conversation.user import Line, SimulatedUser
from pytest_dialeval.errors import SimulatorFault
from pytest_dialeval.records.task import MatcherSpec, Noise, Persona, Probe, State, Transition
from pytest_dialeval.records.transcript import Turn
from tests.conversation.stage import MATCHERS, draw, patient, persona, says, task

Answer = Callable[[str], str]


def lines(
    who: Persona, answer: Answer = lambda line: "ok", *, most: int = 12, seed: str = "seed"
) -> list[Line]:
    """What the user says to an agent that answers a line by itself."""

    async def main() -> list[Line]:
        user = SimulatedUser(task(), who, draw(seed), MATCHERS)
        said: list[Line] = []
        while not user.leaving and len(said) < most:
            said.append(await user.speak())
            if said[-1].last:
                break
            user.hear(Turn(2 * len(said), "agent", answer(said[-1].text)))
        return said

    return asyncio.run(main())


def texts(*args: object, **keys: object) -> list[str]:
    return [each.text for each in lines(*args, **keys)]  # type: ignore[arg-type]


ASKING = persona(
    State(
        "start",
        ("Hello?",),
        next=(Transition("fee", says("welcome")), Transition("start")),
    ),
    State("fee", ("What is the fee?",), next=(Transition("bye", says("free")),)),
    State("bye", ("Bye.",), end=True),
)


def test_transitions_hear_what_the_agent_says():
    answers = {"Hello?": "welcome", "What is the fee?": "it is free"}
    assert texts(ASKING, answers.__getitem__) == ["Hello?", "What is the fee?", "Bye."]


def test_where_no_transition_holds_the_user_stays():
    assert texts(ASKING, lambda line: "hm", most=3) == ["Hello?"] * 3
    assert texts(ASKING, lambda line: "welcome", most=4) == ["Hello?"] + ["What is the fee?"] * 3


def test_to_end_leaves_without_a_word():
    who = persona(State("start", ("Hello?",), next=(Transition("end"),)))
    assert texts(who) == ["Hello?"]


def test_a_state_called_end_is_a_state():
    who = persona(
        State("start", ("Hello?",), next=(Transition("end"),)), State("end", ("Bye.",), end=True)
    )
    assert texts(who) == ["Hello?", "Bye."]


def test_an_end_state_without_lines_leaves():
    who = persona(State("start", ("Hi",), next=(Transition("gone"),)), State("gone", end=True))
    assert texts(who) == ["Hi"]


def test_a_state_with_nothing_to_say_is_the_simulators_fault():
    who = persona(State("start", goal="get a refund"))
    with pytest.raises(SimulatorFault, match="nothing to say in state 'start'"):
        texts(who)


def test_a_state_that_is_not_there_is_the_simulators_fault():
    with pytest.raises(SimulatorFault, match="state 'nowhere', which it does not have"):
        texts(persona(State("start", ("x",), next=(Transition("nowhere"),))))


def test_the_first_transition_that_holds_is_taken():
    who = persona(
        State("start", ("x",), next=(Transition("a", says("ok")), Transition("b", says("ok")))),
        State("a", ("a",), end=True),
        State("b", ("b",), end=True),
    )
    assert texts(who) == ["x", "a"]


def test_a_transition_on_the_turn():
    late = MatcherSpec("user_turn", {"at_least": 3})
    who = persona(
        State("start", ("x",), next=(Transition("bye", late), Transition("start"))),
        State("bye", ("bye",), end=True),
    )
    assert texts(who) == ["x", "x", "x", "bye"]
    # A probe is no turn of the script: it must not move the user.
    probe = Probe("p", "probe", at_user_turn=2)
    assert texts(replace(who, probes=(probe,))) == ["x", "probe", "x", "x", "bye"]


def test_neighbours_without_a_condition_are_drawn_by_weight():
    who = persona(
        State(
            "start",
            ("x",),
            next=(
                Transition("a", weight=3),
                Transition("b", weight=1),
                Transition("c", says("never")),
                Transition("d"),
            ),
        ),
        *(State(name, (name,), end=True) for name in "abcd"),
    )
    ends = [texts(who, seed=str(seed))[-1] for seed in range(400)]
    assert set(ends) == {"a", "b"}
    assert 270 < ends.count("a") < 330  # 300, and three and a half standard deviations


def test_a_probe_moves_no_draw():
    names = "abcdefgh"
    who = persona(
        *(
            State(
                name,
                tuple(f"{name}{n}" for n in range(5)),
                next=tuple(Transition(to) for to in names),
            )
            for name in names
        ),
        noise=Noise(0.5, ("filler", "interruption")),
        start="a",
    )
    plain = lines(who)
    probed = lines(replace(who, probes=(Probe("p", "P", at_user_turn=2),)), most=13)
    assert [each for each in probed if each.probe is None] == plain
    assert len({each.state for each in plain}) > 3


def test_no_line_is_repeated_before_all_were_said():
    who = patient("a", "b", "c")
    said = texts(who, most=9)
    assert sorted(said[:3]) == ["a", "b", "c"]
    assert said[:3] == said[3:6] == said[6:9]
    assert len({tuple(texts(who, most=3, seed=str(seed))) for seed in range(60)}) == 6


def test_probes_take_a_turn_of_their_own():
    who = replace(
        ASKING,
        probes=(Probe("first", "P1", at_user_turn=1), Probe("state", "P2", on_state="fee")),
    )
    said = lines(who, lambda line: "welcome, it is free")
    assert [(each.text, each.state, each.probe) for each in said] == [
        ("P1", None, "first"),
        ("Hello?", "start", None),
        ("P2", None, "state"),
        ("What is the fee?", "fee", None),
        ("Bye.", "bye", None),
    ]


def test_a_state_probe_is_said_on_the_first_entry_only():
    who = replace(patient("x"), probes=(Probe("p", "P", on_state="start"),))
    assert texts(who, most=4) == ["P", "x", "x", "x"]


def test_two_probes_that_want_one_turn_follow_each_other():
    who = replace(
        patient("x"),
        probes=(Probe("a", "A", at_user_turn=2), Probe("b", "B", at_user_turn=2)),
    )
    assert texts(who, most=4) == ["x", "A", "B", "x"]


def test_a_probe_goes_before_leaving_and_a_later_one_is_left_unsaid():
    probes = (
        Probe("late", "L", at_user_turn=4),
        Probe("due", "D", at_user_turn=2),
        Probe("never", "N", on_state="nowhere"),
    )
    who = replace(persona(State("start", ("x",), next=(Transition("end"),))), probes=probes)
    assert texts(who) == ["x", "D"]
    user = SimulatedUser(task(), who, draw(), MATCHERS)
    assert user.unsaid == ("late", "due", "never")
    asyncio.run(user.speak())
    asyncio.run(user.speak())
    assert user.unsaid == ("late", "never")


def test_the_answer_to_a_probe_moves_nothing():
    who = replace(ASKING, probes=(Probe("p", "probe", at_user_turn=1),))
    answers = {"probe": "welcome, it is free", "Hello?": "hm"}
    assert texts(who, answers.__getitem__, most=4) == ["probe", "Hello?", "Hello?", "Hello?"]


def test_noise_is_never_on_probes():
    who = replace(
        patient("a long line of words", "another line of words"),
        probes=tuple(Probe(f"p{n}", "a probe of many words", at_user_turn=n) for n in (1, 3)),
        noise=Noise(1.0, ("filler", "broken", "interruption")),
    )
    said = lines(who, most=6)
    assert [each.noise is None for each in said] == [True, False, True, False, False, False]
    assert said[0].text == said[2].text == "a probe of many words"


# Rule 7: draws belong to what they are for.

names = st.sampled_from(["start", "b", "c", "d"])


@st.composite
def personas(drawing: st.DrawFn) -> Persona:
    """Any script of four states."""
    found = []
    for name in ("start", "b", "c", "d"):
        transitions = drawing(
            st.lists(
                st.builds(
                    Transition,
                    to=st.one_of(names, st.just("end")),
                    when=st.none() | st.just(says("yes")) | st.just(says("no")),
                    weight=st.sampled_from([0.5, 1.0, 3.0]),
                ),
                max_size=3,
            )
        )
        say = tuple(f"{name} line {n}" for n in range(drawing(st.integers(1, 3))))
        found.append(State(name, say, next=tuple(transitions), end=drawing(st.booleans())))
    noise = Noise(drawing(st.sampled_from([0, 0.5])), ("filler", "broken", "interruption"))
    return persona(*found, noise=noise)


probes = st.lists(
    st.builds(lambda say, turn: (say, turn), st.sampled_from(["P", "Q"]), st.integers(1, 8)),
    max_size=3,
    unique_by=lambda each: each[1],
)


def by_words(line: str) -> str:
    """An agent without memory: the same words get the same answer."""
    return "yes" if len(line) % 2 else "no"


@settings(deadline=None)
@given(personas(), probes, st.integers(0, 99))
def test_adding_probes_changes_no_other_line(who: Persona, added: list[tuple[str, int]], seed: int):
    plain = lines(who, by_words, seed=str(seed), most=20)
    probed = replace(
        who,
        probes=tuple(Probe(f"p{n}", say, at_user_turn=turn) for n, (say, turn) in enumerate(added)),
    )
    said = lines(probed, by_words, seed=str(seed), most=20 + len(added))
    scripted = [each for each in said if each.probe is None]
    assert scripted == plain[: len(scripted)]
    assert len(scripted) >= min(len(plain), 20)


@settings(deadline=None)
@given(personas(), probes, st.integers(0, 99))
def test_probes_come_exactly_at_their_turns(who: Persona, added: list[tuple[str, int]], seed: int):
    probed = replace(
        who,
        probes=tuple(Probe(f"p{n}", say, at_user_turn=turn) for n, (say, turn) in enumerate(added)),
    )
    said = lines(probed, by_words, seed=str(seed), most=20)
    for number, (say, turn) in enumerate(added):
        if turn <= len(said):
            assert (said[turn - 1].text, said[turn - 1].probe) == (say, f"p{number}")
        else:
            assert f"p{number}" not in {each.probe for each in said}


@settings(deadline=None)
@given(personas(), st.integers(0, 99))
def test_agents_whose_words_lead_to_the_same_states_meet_the_same_user(who: Persona, seed: int):
    one = lines(who, by_words, seed=str(seed))
    other = lines(who, lambda line: f"Dear Sir, {by_words(line)}!", seed=str(seed))
    assert one == other


def test_another_seed_meets_other_users():
    who = patient(*(f"line {n}" for n in range(30)))
    assert texts(who, seed="a") == texts(who, seed="a")
    assert texts(who, seed="a") != texts(who, seed="b")


def test_a_line_added_to_one_state_moves_no_other():
    def who(*extra: str) -> Persona:
        return persona(
            State("start", ("s1", "s2", "s3", *extra), next=(Transition("b"),)),
            State("b", ("b1", "b2", "b3"), next=(Transition("start"), Transition("b"))),
        )

    def of_b(who: Persona, seed: str) -> list[str]:
        return [each.text for each in lines(who, seed=seed) if each.state == "b"]

    for seed in map(str, range(20)):
        assert of_b(who(), seed) == of_b(who("s4"), seed)
