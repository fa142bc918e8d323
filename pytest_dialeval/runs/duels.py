"""Matches decided by a model: two agents' answers in the same round of the same case."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass

from pytest_dialeval.errors import DialevalError, JudgeFault
from pytest_dialeval.grading.comparer import RoundComparer, RoundQuestion, agreed
from pytest_dialeval.grading.comparer_prompt import Side
from pytest_dialeval.records.match import Match, Winner
from pytest_dialeval.records.run import Source
from pytest_dialeval.records.slug import slug
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES, Transcript
from pytest_dialeval.runs.matches import Pair, match_of, pairs_of, unmeasured
from pytest_dialeval.runs.rounds import Round, rounds_of
from pytest_dialeval.runs.transcripts import Transcripts


@dataclass(frozen=True, slots=True)
class Asking:
    """How the matches of one source are decided."""

    source: Source
    transcripts: Transcripts
    comparer: RoundComparer | None  # None: `why_none` says why nobody compares
    why_none: str = ""
    # Told of a match, by case and trial, that ended undecided by what the model replied.
    forget: Callable[[str, int], None] | None = None


@dataclass(frozen=True, slots=True)
class Duel:
    """One match that is still to be decided."""

    asking: Asking
    pair: Pair
    left: Round
    right: Round

    @property
    def same(self) -> bool:
        """Whether both agents heard the same words."""
        return self.left.instruction == self.right.instruction

    @property
    def case(self) -> str:
        """Names the calls in a recording; no model sees it."""
        agents = f"{self.pair.left.agent}-{self.pair.right.agent}"
        source = self.asking.source
        return ".".join((slug(source.task), agents, slug(self.pair.left.persona)))

    def decided(
        self, winner: Winner | None, orders: tuple[Winner, ...] = (), why: str = ""
    ) -> Match:
        return match_of(
            self.asking.source,
            self.pair,
            winner,
            same=self.same,
            round_=self.left.number,
            orders=orders,
            why=why,
        )


def duels(asking: Asking) -> Iterator[Duel | Match]:
    """All rounds that both agents of a pair have; matches where nobody need be asked."""
    for pair in pairs_of(asking.source):
        try:
            left, right = (asking.transcripts.of(each.id) for each in (pair.left, pair.right))
        except DialevalError as error:
            why = asking.transcripts.explain(error)
            yield match_of(asking.source, pair, None, same=False, why=why)
            continue
        yield from _of_pair(asking, pair, left, right)


def _of_pair(
    asking: Asking, pair: Pair, left: Transcript, right: Transcript
) -> Iterator[Duel | Match]:
    for trial, transcript in ((pair.left, left), (pair.right, right)):
        if transcript.outcome in UNMEASURED_OUTCOMES:
            why = unmeasured(trial, transcript.reason or transcript.outcome)
            yield match_of(asking.source, pair, None, same=False, why=why)
            return
    ours, theirs = rounds_of(left), rounds_of(right)
    for number in sorted(ours.keys() & theirs.keys()):
        duel = Duel(asking, pair, ours[number], theirs[number])
        yield _by_silence(duel, left, right) or duel


def _by_silence(duel: Duel, left: Transcript, right: Transcript) -> Match | None:
    """Who gave no answer, because it failed, is not the better one; same answers are a tie."""
    silent = [
        not each.answer and transcript.outcome == "agent_error"
        for each, transcript in ((duel.left, left), (duel.right, right))
    ]
    match silent:
        case [True, True]:
            return duel.decided("tie", why="both agents failed in this round")
        case [True, False]:
            return duel.decided("B", why=f"{duel.pair.left.agent} failed: {left.reason}")
        case [False, True]:
            return duel.decided("A", why=f"{duel.pair.right.agent} failed: {right.reason}")
    if duel.same and duel.left.answers_as(duel.right):
        return duel.decided("tie", why="the answers are the same")
    return None


async def compared(duel: Duel) -> Match:
    """Ask about one match; a comparer that fails leaves it undecided, and is named."""
    asking = duel.asking
    if asking.comparer is None:
        return duel.decided(None, why=asking.why_none)
    try:
        orders = await asking.comparer(_question(duel))
    except DialevalError as error:
        if isinstance(error, JudgeFault) and asking.forget is not None:
            asking.forget(duel.case, duel.pair.left.number)
        return duel.decided(None, why=f"the comparer gave no verdict: {error}")
    except Exception as error:  # a chat object of the user's own
        text = f"the comparer raised {type(error).__name__}: {error}"
        return duel.decided(None, why=text)
    return duel.decided(agreed(orders), orders)


def _question(duel: Duel) -> RoundQuestion:
    told = duel.asking.source.compare.comparer
    return RoundQuestion(
        user=told.users.get(duel.pair.left.persona, "") if told else "",
        language=told.language if told else "en",
        left=_side(duel.left),
        right=_side(duel.right),
        case=duel.case,
        trial=duel.pair.left.number,
        round=duel.left.number,
    )


def _side(found: Round) -> Side:
    return Side(found.instruction, found.answer, found.before)


async def compare_all(found: Iterable[Duel | Match], *, at_once: int) -> AsyncIterator[Match]:
    """Every match as soon as it is decided, at most so many asked about at once.

    Traces are read as they are needed: a run's conversations have no room in memory together.
    """
    left, running = iter(found), set[asyncio.Task[Match]]()
    try:
        while True:
            for each in left:
                if isinstance(each, Match):
                    yield each
                    continue
                running.add(asyncio.ensure_future(compared(each)))
                if len(running) >= at_once:
                    break
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
