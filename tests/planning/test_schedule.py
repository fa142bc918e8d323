"""Which follow-up comes when: drawn from seed, task and profile, and from nothing else."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.planning.schedule import schedule
from pytest_dialeval.records.follow_up import Anchor, Behaviour, Profile, Rounds
from pytest_dialeval.suites.behaviours import BEHAVIOURS
from pytest_dialeval.suites.profiles import DEFAULT, PROFILES


def builtin(name: str = DEFAULT) -> Rounds:
    profile = PROFILES[name]
    return Rounds("Please.", profile, {each: BEHAVIOURS[each] for each in profile.weights})


def made(weights: Mapping[str, float], *, repeats: bool = False) -> Rounds:
    behaviours = {each: Behaviour(each, "do it") for each in weights}
    return Rounds("Please.", Profile("own", "", weights, repeats), behaviours)


def ids(rounds: Rounds, seed: str = "0", *, task: str = "t", last: int = 5) -> list[str]:
    found = schedule(seed, task, rounds, last)
    assert list(found) == list(range(2, last + 1))
    return [each.id if isinstance(each, Behaviour) else "anchor" for each in found.values()]


def test_numbers_that_must_never_change() -> None:
    # Another hash would give every suite other follow-ups.
    assert ids(builtin(), "fix", task="fix") == [
        "failure-report", "correct-requirement", "debug-followup", "final-cleanup",
    ]  # fmt: skip


@pytest.mark.parametrize("name", PROFILES)
def test_another_seed_is_another_schedule(name: str) -> None:
    first = ids(builtin(name), "0", last=5)
    others = [ids(builtin(name), str(seed), last=5) for seed in range(1, 1001)]
    assert sum(each != first for each in others) >= 900


@pytest.mark.parametrize("name", PROFILES)
def test_every_behaviour_occurs_and_none_twice_in_a_row(name: str) -> None:
    seen: set[str] = set()
    for seed in range(300):
        drawn = ids(builtin(name), str(seed))
        seen.update(drawn)
        assert all(one != two for one, two in itertools.pairwise(drawn))
        assert "final-cleanup" not in drawn[:-1]
    assert seen == set(PROFILES[name].weights)


def test_shares_follow_weights() -> None:
    weights = {"a": 5.0, "b": 3.0, "c": 2.0}
    found = Counter(ids(made(weights), str(seed), last=2)[0] for seed in range(4000))
    for name, weight in weights.items():
        assert found[name] / 4000 == pytest.approx(weight / 10, abs=0.03)


def test_repeats_where_the_profile_says_so() -> None:
    weights = {"a": 20.0, "b": 1.0}
    assert ids(made(weights), last=9) in (["a", "b"] * 4, ["b", "a"] * 4)
    drawn = ids(made(weights, repeats=True), last=9)
    assert any(one == two for one, two in itertools.pairwise(drawn))


def test_an_anchor_takes_its_round_and_no_other() -> None:
    rounds = builtin()
    anchored = replace(rounds, anchors={3: Anchor("Use Decimal.")})
    for seed in map(str, range(50)):
        with_anchor, without = ids(anchored, seed), ids(rounds, seed)
        assert with_anchor[1] == "anchor"
        assert with_anchor[0] == without[0]


def test_one_round_is_the_request_alone() -> None:
    assert schedule("0", "t", builtin(), 1) == {}


names = st.text("abcdefgh-", min_size=1, max_size=4)
weights = st.floats(min_value=1e-300, max_value=1e300)
profiles = st.dictionaries(names, weights, min_size=2, max_size=6)


@given(profiles, names, weights, st.text(max_size=5))
def test_one_behaviour_more_moves_no_draw_of_the_others(
    given_weights: dict[str, float], name: str, weight: float, seed: str
) -> None:
    before = ids(made(given_weights, repeats=True), seed, last=6)
    more = {**given_weights, name: given_weights.get(name, weight)}
    after = ids(made(more, repeats=True), seed, last=6)
    assert all(new in (old, name) for old, new in zip(before, after, strict=True))


@given(profiles, st.text(max_size=5), st.text(max_size=5), st.integers(2, 12))
def test_it_is_a_function_of_its_inputs_in_any_order(
    given_weights: dict[str, float], seed: str, task: str, last: int
) -> None:
    turned = dict(reversed(given_weights.items()))
    assert ids(made(given_weights), seed, task=task, last=last) == ids(
        made(turned), seed, task=task, last=last
    )
