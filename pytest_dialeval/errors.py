"""Every exception that crosses a room's border.

DialevalError
├── SuiteError          what the user wrote is wrong; carries every Problem of the file
├── SpecError           a matcher that cannot be compiled; suites make Problems of it
├── TranscriptError     a recording or trace that cannot be read rightly
├── AgentFault          the agent under test failed: outcome agent_error
├── HarnessFault        we or the machine failed: outcome harness_error
├── SimulatorFault      the simulated user failed: outcome simulator_error
├── ProviderFault       a model's endpoint failed, after retries: outcome provider_error
├── BudgetSpent         no call is left in the budget: unmeasured, outcome cancelled
├── JudgeFault          the judge gave no usable verdict: outcome judge_error
├── NotMeasured         what was asked cannot be known: unmeasured, never a failure
│   └── CassetteMiss    a call that no cassette holds, where none may be made
├── BudgetProblem       a budget that cannot be read, or cannot be kept
├── ModelProblem        a model that is written wrongly
└── RunError            a run on disk that cannot be written or read
    └── TraceTaken      a trace of that name is there already
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_dialeval.records.suite import Problem


class DialevalError(Exception):
    """The root; its text is a whole message for a user."""


class SuiteError(DialevalError):
    """All problems of what the user wrote, at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(each) for each in self.problems))


class SpecError(DialevalError):
    """A matcher that cannot be compiled: `path` is `keyword.any`, `text` says what is wrong."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        super().__init__(f"{path}: {text}")


class TranscriptError(DialevalError):
    """A recording or trace that cannot be read rightly; names file and place."""


class AgentFault(DialevalError):
    """The agent under test failed: it raised, died, was late, or answered garbage."""


class HarnessFault(DialevalError):
    """We or the machine failed; the agent is not to blame."""


class SimulatorFault(DialevalError):
    """The simulated user failed; it voids the trial and never fails the agent."""


class ProviderFault(DialevalError):
    """A model's endpoint failed after retries; `status` is HTTP's, None where there was none."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        transient: bool = True,
        tries: int = 1,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.transient = transient  # whether the same call may succeed later
        self.tries = tries  # requests that were sent, for the budget


class BudgetSpent(DialevalError):
    """No call is left in the budget; what needed one is unmeasured."""


class JudgeFault(DialevalError):
    """The judge gave no usable verdict: the rubric is unscored."""


class NotMeasured(DialevalError):
    """Raised by agents, judges or test bodies where something cannot be known."""


class CassetteMiss(NotMeasured):
    """No cassette holds this call, and none may be made; shows the nearest one that it holds."""


class BudgetProblem(DialevalError):
    """A budget that cannot be read, or that cannot be kept as an amount in it is unknown."""


class ModelProblem(DialevalError):
    """A model that is written wrongly; the text says what is allowed and what to do."""


class RunError(DialevalError):
    """A run on disk that cannot be written or read; names path and remedy."""


class TraceTaken(RunError):
    """There is a trace of that name, whole or not."""
