"""What a matcher may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.work import Check, RoundWork

By = Literal["agent", "user", "any"]
Turns = Literal["first", "last", "all", "after_trigger", "next"]


@dataclass(frozen=True, slots=True)
class View:
    """The conversation, narrowed to the turns after a trigger where `after` is set."""

    turns: tuple[Turn, ...]
    after: int | None = None
    language: str = "en"
    variables: Mapping[str, object] = field(default_factory=dict)
    prompt: str = ""
    recorded: Mapping[str, object] = field(default_factory=dict)
    work: tuple[RoundWork, ...] = ()
    checks: tuple[Check, ...] = ()

    def searched(
        self, by: By = "agent", turns: Turns = "all", *, said: bool = False
    ) -> tuple[Turn, ...]:
        """The turns to look at; `said` leaves out those that hold only tool calls or artifacts.

        `first` and `last` are places in the whole conversation: where they are not after the
        trigger, nothing is searched.
        """
        spoken = [
            each
            for each in self.turns
            if (by == "any" or each.speaker == by) and not (said and _is_wordless(each))
        ]
        if turns == "first":
            spoken = spoken[:1]
        elif turns == "last":
            spoken = spoken[-1:]
        if self.after is not None:
            spoken = [each for each in spoken if each.id > self.after]
        return tuple(spoken[:1] if turns == "next" else spoken)

    def upto(self, count: int) -> View:
        """The same view when only the first `count` turns had happened."""
        return replace(self, turns=self.turns[:count])


def _is_wordless(turn: Turn) -> bool:
    # An empty reply is an answer to be judged; a bare tool call is none.
    return not turn.text.strip() and bool(turn.tool_calls or turn.artifacts)
