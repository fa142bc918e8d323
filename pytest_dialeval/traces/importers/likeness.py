"""Which formats a file may be, by the look of its first value."""

from __future__ import annotations

from typing import Any

_TAU2 = ("termination_reason", "reward_info", "start_time")


def likely_formats(value: Any) -> tuple[str, ...]:
    """Names of formats whose marks the value bears; empty where it bears none."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, list):
        return ("openai",) if first and _is_message(first[0]) else ()
    if not isinstance(first, dict):
        return ()
    if "simulations" in first or "simulation_index" in first:
        return ("tau2",)
    if "traj" in first or "messages_display" in first:
        return ("tau-bench",)
    if "messages" in first:
        return ("tau2",) if any(key in first for key in _TAU2) else ("openai", "tau2")
    if first.get("event") == "start":
        return ("dialeval",)
    return ("openai",) if _is_message(first) else ()


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value
