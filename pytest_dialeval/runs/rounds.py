"""A transcript round by round: what the user said, and all that the agent answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from pytest_dialeval.records.transcript import Transcript, Turn


@dataclass(frozen=True, slots=True)
class Round:
    """One user message with the agent's whole answer, and the agent's words just before it."""

    number: int
    instruction: str
    answer: tuple[Turn, ...]
    before: str = ""

    def answers_as(self, other: Round) -> bool:
        """Whether both agents said and did the same; ids of turns and times don't matter."""
        return [_content(each) for each in self.answer] == [_content(each) for each in other.answer]


def _content(turn: Turn) -> tuple[object, ...]:
    calls = [(str(each), each.result, each.error) for each in turn.tool_calls]
    return turn.text, calls, turn.artifacts


def rounds_of(transcript: Transcript) -> Mapping[int, Round]:
    """Rounds by number; what an agent says before the user has spoken is none."""
    found: dict[int, Round] = {}
    last = ""
    answers: dict[int, list[Turn]] = {}
    for turn in transcript.turns:
        if turn.speaker == "agent":
            answers.setdefault(turn.round, []).append(turn)
            last = turn.text
        elif turn.round in found:  # a recording may have two lines of the user in one round
            both = f"{found[turn.round].instruction}\n{turn.text}"
            found[turn.round] = Round(turn.round, both, (), found[turn.round].before)
        else:
            found[turn.round] = Round(turn.round, turn.text, (), last)
    return {
        number: Round(number, each.instruction, tuple(answers.get(number, ())), each.before)
        for number, each in found.items()
    }


def heard(transcript: Transcript) -> str:
    """A digest of the user's lines in their order: equal where two agents heard the same."""
    digest = blake2b(digest_size=8)
    for turn in transcript.turns:
        if turn.speaker == "user":
            digest.update(f"{turn.round} {turn.text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
