"""Small made-up jobs of Harbor's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def user(message: Any = "fix it", **keys: Any) -> dict[str, Any]:
    return {"source": "user", "message": message, **keys}


def agent(message: Any = "done", *calls: str, **keys: Any) -> dict[str, Any]:
    """An agent's step; each call is a command with the result `ok`."""
    made = [
        {"tool_call_id": f"c{n}", "function_name": "bash", "arguments": {"command": each}}
        for n, each in enumerate(calls)
    ]
    results = [{"source_call_id": each["tool_call_id"], "content": "ok"} for each in made]
    acts = {"tool_calls": made, "observation": {"results": results}} if made else {}
    return {"source": "agent", "message": message, **acts, **keys}


def metrics(prompt: int, cost: float = 0.5) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": 1, "cost_usd": cost}


def trajectory(*steps: Any, **keys: Any) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.8", "steps": list(steps), **keys}


def failure(kind: str, message: str = "why", **keys: Any) -> dict[str, Any]:
    return {"exception_type": kind, "exception_message": message, **keys}


def result(task: str = "demo/fix", name: str = "alpha", **keys: Any) -> dict[str, Any]:
    """A trial that got reward 1; `model` and `rewards` are short for where they stand."""
    model, rewards = keys.pop("model", "m/a-1"), keys.pop("rewards", {"reward": 1.0})
    info = {"name": name, "version": "1", "model_info": {"name": model, "provider": None}}
    return {
        "task_name": task,
        "task_checksum": "c" * 64,
        "agent_info": info,
        "verifier_result": None if rewards is None else {"rewards": rewards},
        "exception_info": None,
        "step_results": None,
        **keys,
    }


def steps(**rewards: dict[str, float] | None) -> list[dict[str, Any]]:
    """`step_results` by the steps' names."""
    return [
        {"step_name": name, "verifier_result": None if each is None else {"rewards": each}}
        for name, each in rewards.items()
    ]


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Files by name: bytes and texts as they are, anything else as JSON."""
    for name, each in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = each if isinstance(each, bytes | str) else json.dumps(each)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def single(*said: Any, **keys: Any) -> dict[str, Any]:
    """The files of a trial of one step."""
    talk = said or (user(), agent())
    return {"result.json": result(**keys), "agent/trajectory.json": trajectory(*talk)}
