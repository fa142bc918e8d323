"""Whose an exception of a Harbor trial is, and whether a reward beside it counts.

The table is that of Harbor 0.26; files that say it themselves (`policy.has_valid_reward`) go first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Whose = Literal["infrastructure", "provider", "grader", "setup", "agent", "limit", "unknown"]

# Retried by Harbor, never graded: the run had not begun, or the machine failed it.
_INFRASTRUCTURE = frozenset(
    "EnvironmentStartTimeoutError SandboxBuildFailedError AgentSetupTimeoutError HealthcheckError "
    "SandboxLikelyOutOfMemoryError MemoryLimitExceededError SSHAccessError "
    "GKEExecStreamClosedError GKEPodNotFoundError RuntimeRequestError AddTestsDirError "
    "DownloadVerifierDirError".split()
)
# Graded, but the model behind the agent was not there: the reward says nothing.
_PROVIDER = frozenset(
    "ApiError ApiRateLimitError ApiInternalServerError ApiOverloadedError ApiConnectionClosedError "
    "ApiResponseStalledError UnknownApiError NetworkConnectionError ApiConnectionError "
    "ApiUsageLimitError RateLimitError InternalServerError ServiceUnavailableError "
    "APIConnectionError APIError Timeout".split()
)
_GRADER = frozenset(
    "UnsupportedModelParametersError BadRequestError UnprocessableEntityError "
    "UnsupportedParamsError APIResponseValidationError BudgetExceededError VerifierTimeoutError "
    "RewardFileNotFoundError RewardFileEmptyError VerifierOutputParseError".split()
)
_SETUP = frozenset(
    "AgentAuthenticationError ModelNotFoundError ApiProviderResourceNotFoundError "
    "AuthenticationError PermissionDeniedError NotFoundError ServiceOperationsUnsupportedError "
    "VercelScopeError DspyImportError MissingExtraError RegradeError CancelledError".split()
)
# The candidate's own, with a valid reward. Where a limit ended its work, the work is graded.
_AGENT = frozenset(
    "NonZeroAgentExitCodeError AgentSafetyRefusalError ContentPolicyViolationError".split()
)
_LIMIT = frozenset(
    "AgentTimeoutError ContextWindowExceededError OutputTokenExceededError "
    "ContextLengthExceededError OutputLengthExceededError".split()
)
_GROUPS: Sequence[tuple[Whose, frozenset[str]]] = (
    ("infrastructure", _INFRASTRUCTURE),
    ("provider", _PROVIDER),
    ("grader", _GRADER),
    ("setup", _SETUP),
    ("agent", _AGENT),
    ("limit", _LIMIT),
)


def whose(exception: str) -> Whose:
    """The class of an exception by its type's name."""
    return next((each for each, names in _GROUPS if exception in names), "unknown")


def has_valid_reward(exception: str, overrides: Sequence[Mapping[str, Any]] = ()) -> bool:
    """Whether a reward beside it counts; an unknown exception leaves it valid, as in Harbor."""
    for each in overrides:
        if isinstance(said := each.get("has_valid_reward"), bool):
            return said
    return whose(exception) in ("agent", "limit", "unknown")
