"""What a test's body asked the judge in one trial is asked ahead in its other trials."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from pytest_dialeval.grading.grade import CompiledRubric, Dialogue, grade
from pytest_dialeval.grading.judge import Judge
from pytest_dialeval.records.verdict import Verdict


@dataclass(slots=True, eq=False)
class Criteria:
    """The criteria of one decorated function; all of it happens on the pool's loop.

    A body is code: what it will ask is known only when it has asked once.
    """

    judge: Judge
    deadline: float  # seconds for one verdict
    _asked: dict[str, CompiledRubric] = field(default_factory=dict)
    # By the transcript itself: another attempt at a trial is another conversation.
    _held: dict[int, Dialogue] = field(default_factory=dict)
    _verdicts: dict[tuple[int, str], asyncio.Task[Verdict]] = field(default_factory=dict)

    def held(self, dialogue: Dialogue) -> None:
        """A conversation is over: its body will ask what others have asked."""
        self._held[id(dialogue.transcript)] = dialogue
        for name, rubric in self._asked.items():
            self._judged(dialogue, name, rubric)

    async def ask(self, rubric: CompiledRubric, dialogue: Dialogue) -> Verdict:
        """The verdict; whoever is held already is judged by the same criterion meanwhile."""
        name = _name(rubric)
        verdict = asyncio.shield(self._judged(dialogue, name, rubric))
        if name not in self._asked:
            self._asked[name] = rubric
            for each in self._held.values():
                self._judged(each, name, rubric)
        return await verdict

    def _judged(
        self, dialogue: Dialogue, name: str, rubric: CompiledRubric
    ) -> asyncio.Task[Verdict]:
        place = (id(dialogue.transcript), name)
        if place not in self._verdicts:
            self._held.setdefault(id(dialogue.transcript), dialogue)  # so that its id stays its own
            task = asyncio.get_running_loop().create_task(self._in_time(dialogue, rubric))
            self._verdicts[place] = task
        return self._verdicts[place]

    async def _in_time(self, dialogue: Dialogue, rubric: CompiledRubric) -> Verdict:
        try:
            async with asyncio.timeout(self.deadline):
                return await grade(rubric, dialogue, self.judge)
        except TimeoutError:
            reason = f"the judge gave no verdict within {self.deadline:g} s (limits.timeout)"
            return Verdict(rubric.rubric.id, "unscored", reason=reason, fault="judge_error")


def _name(rubric: CompiledRubric) -> str:
    return json.dumps(dict(rubric.rubric.spec.params), sort_keys=True, default=str)
