"""Which formats a file may be, by the look of its first value."""

from __future__ import annotations

from typing import Any

# Of these tau2 writes several with every simulation and every message; `start_time` and the like
# may stand beside anybody's messages.
_OF_SIMULATIONS = ("termination_reason", "reward_info")
_OF_MESSAGES = ("turn_idx", "requestor")


def likely_formats(value: Any) -> tuple[str, ...]:
    """Names of formats whose marks the value bears; empty where it bears none."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, list):
        return ("openai",) if first and _is_message(first[0]) else ()
    if not isinstance(first, dict):
        return ()
    if _is_of_harbor(first):
        return ("harbor",)
    if "simulations" in first or "simulation_index" in first:
        return ("tau2",)
    if "traj" in first or "messages_display" in first:
        return ("tau-bench",)
    if "ticks" in first:  # a voice run
        return ("tau2",)
    if "messages" in first:
        return ("tau2",) if _is_simulation(first) else ("openai",)
    if first.get("event") == "start":
        return ("dialeval",)
    return ("openai",) if _is_message(first) else ()


def _is_simulation(value: dict[str, Any]) -> bool:
    messages = value["messages"] if isinstance(value["messages"], list) else []
    return any(key in value for key in _OF_SIMULATIONS) or any(
        isinstance(each, dict) and any(key in each for key in _OF_MESSAGES) for each in messages
    )


def _is_of_harbor(value: dict[str, Any]) -> bool:
    """A trial's result, or a trajectory (ATIF)."""
    version = value.get("schema_version")
    atif = isinstance(version, str) and version.startswith("ATIF")
    return atif or ("trial_name" in value and "task_name" in value)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value
