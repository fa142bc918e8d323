"""An agent that answers as it did in a recording, round by round."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.errors import NotMeasured
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.transcript import Recording, Transcript, Turn

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Round:
    """What the user said, and all that the agent answered; round 0 is an opening."""

    said: str
    answers: list[Turn]


class ReplayAgent:
    """Says what was said in the round of the same number; beyond them nothing is known."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._recordings = recordings
        self._rounds: list[_Round] = []
        self._ended_by_agent = False
        self._differs = False

    async def start(self, brief: Brief) -> None:
        """Choose a recording: one of the same task if there is any, drawn by the seed."""
        same = [each for each in self._recordings if each.task_id == brief.task]
        draw = Draw(brief.seed, brief.task, persona="", trial=0)
        transcript = draw.choice(same or self._recordings, "recording").transcript
        self._rounds = _rounds(transcript)
        self._ended_by_agent = transcript.ended_by == "agent"

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """The recorded answer; NotMeasured where the recording has none."""
        number = sum(each.speaker == "user" for each in turns)
        held = self._rounds[number] if number < len(self._rounds) else None
        if held is None or not held.answers:
            what = f"answer in round {number}" if number else "opening of the agent's"
            text = f"the recording has no {what}; its rounds are 1 to {len(self._rounds) - 1}"
            raise NotMeasured(text)
        if turns and turns[-1].text != held.said and not self._differs:
            self._differs = True
            logger.warning("from round %d on the user says other words than recorded", number)
        return self._joined(held, last=number == len(self._rounds) - 1)

    async def close(self) -> None:
        """Nothing is held."""

    def _joined(self, held: _Round, *, last: bool) -> Reply:
        """One reply of what may have been several messages, with tool calls between."""
        return Reply(
            text="\n".join(each.text for each in held.answers if each.text),
            tool_calls=tuple(call for each in held.answers for call in each.tool_calls),
            artifacts=tuple(each for turn in held.answers for each in turn.artifacts),
            hang_up=last and self._ended_by_agent,
        )


def _rounds(transcript: Transcript) -> list[_Round]:
    rounds = [_Round("", [])]
    for turn in transcript.turns:
        if turn.speaker == "user":
            rounds.append(_Round(turn.text, []))
        else:
            rounds[-1].answers.append(turn)
    return rounds
