"""What people can vote on in a run: pairs of trials, and a name for exactly these transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.vote import Vote
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.matches import Pair, agents_of, pairs_of
from pytest_dialeval.runs.record import read_facts, read_plan
from pytest_dialeval.runs.rounds import rounds_of
from pytest_dialeval.runs.transcripts import Transcripts
from pytest_dialeval.traces.json_bytes import to_json


@dataclass(frozen=True, slots=True)
class Ballot:
    """One pair of trials with its transcripts; `rounds`: number -> whether both heard the same."""

    source: Source
    pair: Pair
    digests: tuple[str, str]
    rounds: Mapping[int, bool]
    same: bool

    def is_of(self, vote: Vote) -> bool:
        """Whether the vote names these two trials, whichever agent stood left."""
        left, right = self.pair.left, self.pair.right
        same = {left.agent, right.agent} == {vote.left, vote.right}
        return same and (left.persona, left.number) == (vote.case, vote.trial)

    def digests_of(self, vote: Vote) -> tuple[str, str]:
        """In the order in which the agents stood before the voter."""
        return self.digests if vote.left == self.pair.left.agent else self.digests[::-1]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that can be voted on."""

    id: str
    ballots: Sequence[Ballot]
    sources: Sequence[Source]
    facts: Mapping[str, TrialFacts]

    def ballot(self, vote: Vote) -> Ballot | str:
        """What the vote is about, or why it is about nothing here."""
        if vote.evaluation != self.id:
            return f"it is of evaluation {vote.evaluation!r}, and this run is {self.id!r}"
        found = self._met(vote)
        if isinstance(found, str):
            return found
        ballot = next((each for each in found if each.digests_of(vote) == vote.digests), None)
        if ballot is None:
            return "its digests are stale: these are not the transcripts that were voted on"
        if vote.round is not None and vote.round not in ballot.rounds:
            return f"round {vote.round} was not reached by both agents"
        if vote.choice == "both_bad" and not ballot.source.compare.both_bad:
            # The run keeps what its suite said: a suite that is changed now changes nothing here.
            return (
                "'both_bad' is no choice in this run: vote tie; a suite with "
                "`votes: {both_bad: true}` allows it in its next run"
            )
        return ballot

    def _met(self, vote: Vote) -> list[Ballot] | str:
        """Where its agents met; two suites may have a task of one name."""
        sources = [each for each in self.sources if each.task == vote.task]
        if not sources:
            return _unknown("task", vote.task, [each.task for each in self.sources])
        playing = [name for each in sources for name in agents_of(each)]
        for agent in (vote.left, vote.right):
            if agent not in playing:
                return _unknown(f"agent of task {vote.task!r}", agent, playing)
        found = [each for each in self.ballots if each.source in sources and each.is_of(vote)]
        where = f"case {vote.case!r}, trial {vote.trial}"
        return found or f"{vote.left!r} and {vote.right!r} did not meet in {where}"


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    names = list(dict.fromkeys(known))
    return f"{name!r} is no {what} (there are: {', '.join(names)}){did_you_mean(name, names)}"


def evaluation_of(directory: RunDirectory, rootdir: Path) -> Evaluation:
    """What a stored run has to vote on: all pairs of trials that were measured."""
    sources = read_plan(directory.path / "plan.json").sources
    facts = read_facts(directory)
    ballots = [
        each
        for source in sources
        for each in _ballots(source, Transcripts(directory, rootdir, facts, source.compare.formats))
    ]
    return Evaluation(_name(ballots), ballots, sources, facts)


def _ballots(source: Source, transcripts: Transcripts) -> Iterator[Ballot]:
    for pair in pairs_of(source):
        trials = (pair.left.id, pair.right.id)
        if not all(map(transcripts.has, trials)):
            continue
        # One that can't be read is an error: without it the evaluation would be another one.
        left, right = (rounds_of(transcripts.of(each)) for each in trials)
        digests = (transcripts.digest(trials[0]), transcripts.digest(trials[1]))
        rounds = {
            number: left[number].instruction == right[number].instruction
            for number in sorted(left.keys() & right.keys())
        }
        same = left.keys() == right.keys() and all(rounds.values())
        yield Ballot(source, pair, digests, rounds, same)


def _name(ballots: Sequence[Ballot]) -> str:
    """A digest of the compared plan and its transcripts."""
    parts = [
        (
            each.source.name,
            each.source.sha256,
            each.source.version,
            each.pair.left.id,
            each.pair.right.id,
            each.digests,
        )
        for each in ballots
    ]
    return blake2b(to_json(parts), digest_size=8).hexdigest()
