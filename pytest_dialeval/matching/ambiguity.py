"""How long a regular expression may take, told from the loops of its automaton.

Where one text can go round a loop in two ways, `(a+)+`, the time doubles with every character.
Where loops follow each other over the same characters, `.*a.*b`, it grows with a power of the
length.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from pytest_dialeval.matching.automaton import Automaton

_POSITIONS_AT_MOST = 1000
_STEPS_AT_MOST = 200_000
_Pair = tuple[int, int]


class TooAmbiguous(ValueError):
    """The pattern may run for longer than anybody waits; the text says how to mend it."""


def loops_of(automaton: Automaton) -> list[list[int]]:
    """Its loops, none of which may be passed in two ways by one text."""
    if len(automaton.masks) > _POSITIONS_AT_MOST:
        raise TooAmbiguous("the pattern is too large; split it into several")
    if automaton.repeats_nothing:
        raise TooAmbiguous(_NOTHING)
    loops = _strong_components(automaton)
    for loop in loops:
        _refuse_two_ways(automaton, set(loop))
    return loops


def steps(automaton: Automaton, loops: Sequence[Sequence[int]], length: int) -> float:
    """The logarithm of about how many steps a text of that length may take."""
    counted = [loop for loop in loops if not set(loop) <= automaton.safe]
    after = [
        [place for place, second in enumerate(counted) if _chained(automaton, first, second)]
        for first in counted
    ]
    chains: dict[int, float] = {}

    def cost(place: int) -> float:
        if place not in chains:
            turns = _log_turns(automaton, counted[place], length)
            chains[place] = turns + max((cost(each) for each in after[place]), default=0.0)
        return chains[place]

    # A search begins anew at every character.
    total = math.log(length) + max(map(cost, range(len(counted))), default=0.0)
    powers = total / math.log(length)
    return total - math.lgamma(powers + 1)


def _log_turns(automaton: Automaton, loop: Sequence[int], length: int) -> float:
    return math.log(min(length, *(automaton.bounds.get(each, length) for each in loop)))


def _chained(automaton: Automaton, first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether a text may leave the first loop for the second while it could stay in either."""
    if first is second:
        return False
    shared = _mask(automaton, first) & _mask(automaton, second)
    pending = [each for each in first if automaton.masks[each] & shared]
    goal, seen = set(second), set(first)
    while pending:
        for each in automaton.follow[pending.pop()]:
            if each in seen or not automaton.masks[each] & shared:
                continue
            if each in goal:
                return True
            seen.add(each)
            pending.append(each)
    return False


def _mask(automaton: Automaton, loop: Sequence[int]) -> int:
    mask = 0
    for each in loop:
        mask |= automaton.masks[each]
    return mask


def _refuse_two_ways(automaton: Automaton, loop: set[int]) -> None:
    """Two readings that part and meet again inside the loop double with every turn."""
    for each in loop:
        if any(count > 1 and after in loop for after, count in automaton.follow[each].items()):
            raise TooAmbiguous(_TWO_WAYS)
    leads: dict[_Pair, list[_Pair]] = {}
    pending = deque((each, each) for each in sorted(loop))
    seen = set(pending)
    steps_left = _STEPS_AT_MOST
    while pending:
        pair = pending.popleft()
        for after in _next_pairs(automaton, loop, pair):
            steps_left -= 1
            if steps_left < 0:
                raise TooAmbiguous("the pattern is too large to be checked; split it into several")
            leads.setdefault(after, []).append(pair)
            if after not in seen:
                seen.add(after)
                pending.append(after)
    if any(one != other for one, other in _back_from_equal(leads, loop)):
        raise TooAmbiguous(_TWO_WAYS)


_NOTHING = (
    r"it repeats a part that takes no character, as in (?:\b)+, so that a text might take for ever;"
    " write that part once"
)
_TWO_WAYS = (
    "one text can go round a repeated part in two ways, as in (a+)+ or (a|ab?)*, so that a long"
    " text might take for ever; make the repeated part begin or end with a character that the"
    " rest of it cannot match"
)


def _next_pairs(automaton: Automaton, loop: set[int], pair: _Pair) -> Iterator[_Pair]:
    for one in automaton.follow[pair[0]]:
        if one in loop:
            for other in automaton.follow[pair[1]]:
                if other in loop and automaton.masks[one] & automaton.masks[other]:
                    yield one, other


def _back_from_equal(leads: Mapping[_Pair, Sequence[_Pair]], loop: set[int]) -> set[_Pair]:
    """The pairs from which two readings can come to the same position again."""
    found: set[_Pair] = set()
    pending = [(each, each) for each in loop]
    while pending:
        for before in leads.get(pending.pop(), ()):
            if before not in found:
                found.add(before)
                pending.append(before)
    return found


def _strong_components(automaton: Automaton) -> list[list[int]]:
    """Sets of positions that lead to each other (Kosaraju)."""
    backward: list[list[int]] = [[] for _ in automaton.masks]
    for before, after in enumerate(automaton.follow):
        for each in after:
            backward[each].append(before)
    taken: set[int] = set()
    loops: list[list[int]] = []
    for start in reversed(_by_finish(automaton)):
        if start in taken:
            continue
        component, pending = [], [start]
        taken.add(start)
        while pending:
            component.append(each := pending.pop())
            fresh = [before for before in backward[each] if before not in taken]
            taken.update(fresh)
            pending.extend(dict.fromkeys(fresh))
        if len(component) > 1 or start in automaton.follow[start]:
            loops.append(sorted(component))
    return loops


def _by_finish(automaton: Automaton) -> list[int]:
    done: list[int] = []
    seen: set[int] = set()
    for start in range(len(automaton.masks)):
        stack = [(start, iter(automaton.follow[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            at, followers = stack[-1]
            fresh = next((each for each in followers if each not in seen), None)
            if fresh is None:
                done.append(at)
                stack.pop()
            else:
                seen.add(fresh)
                stack.append((fresh, iter(automaton.follow[fresh])))
    return done
