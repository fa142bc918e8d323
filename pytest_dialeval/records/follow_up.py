"""Rounds that follow a request: what kind of message comes next, and in whose manner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REQUEST = "request"  # the state of round 1's line
ANCHOR = "anchor"  # the state of a line that was written by hand
MAX_ROUNDS = 5  # user messages, the request among them, where `max_rounds` is not given
# What lines of behaviours may name in braces: facts of the conversation, filled in when it is said.
FIELDS = ("request", "earlier", "said", "files", "command", "failing", "error")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The kind of follow-up that a round asks for.

    Lines hold fields such as {request}, which the facts of the conversation fill in.
    """

    id: str
    goal: str  # what the message is to do, for a model
    say: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # language -> lines
    only_last: bool = False  # makes sense in the last round alone

    def lines(self, language: str) -> tuple[str, ...]:
        """Its lines in that language, `zh` also for `zh-TW`; empty where it has none."""
        written = {each.lower(): lines for each, lines in self.say.items()}
        wanted = language.lower()
        return written.get(wanted) or written.get(wanted.partition("-")[0], ())


@dataclass(frozen=True, slots=True)
class Profile:
    """Who follows up: a tone, and how much it leans to which behaviour."""

    id: str
    tone: str
    weights: Mapping[str, float]  # behaviour id -> weight, above 0
    repeats: bool = False  # whether a behaviour may come twice in a row


@dataclass(frozen=True, slots=True)
class Anchor:
    """A follow-up written by hand; the agent sees the instruction alone, the judge the rest."""

    instruction: str
    intent: str = ""
    expected: str = ""  # what a good agent does then


@dataclass(frozen=True, slots=True)
class Rounds:
    """`task.rounds`: the original request, and what follows it."""

    request: str  # variables are filled in
    profile: Profile
    behaviours: Mapping[str, Behaviour]  # those that the profile weighs
    anchors: Mapping[int, Anchor] = field(default_factory=dict)  # round -> its message
