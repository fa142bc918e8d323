"""A trial's result.json (Harbor's schema 1 and the unversioned ones before it) -> what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from pytest_dialeval.records.text import clean
from pytest_dialeval.traces.importers.capped import capped
from pytest_dialeval.traces.importers.harbor_policy import has_valid_reward
from pytest_dialeval.traces.importers.recorded_values import scalars

MOST_OF_A_MESSAGE = 2_000  # characters: some hold the log of a whole build
_TOKENS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that was recorded; `valid`: whether a reward beside it counts."""

    type: str
    message: str
    valid: bool
    step: str = ""

    def __str__(self) -> str:
        where = f"step {self.step}: " if self.step else ""
        return f"{where}{self.type}: {self.message}" if self.message else f"{where}{self.type}"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What the verifier said of one step."""

    name: str
    rewards: Mapping[str, float]
    failures: tuple[Failure, ...]
    tokens: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AgentName:
    """Who spoke, as far as it is told."""

    name: str
    model: str = ""
    version: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version, self.model)))


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What result.json says, or config.json where a trial was not finished."""

    task: str
    agent: AgentName
    checksum: str = ""
    planned: str = ""  # the task as the job's plan names it
    started: str = ""
    rewards: Mapping[str, float] = field(default_factory=dict)
    valid: bool = False
    failures: tuple[Failure, ...] = ()  # of the trial, then of its steps in order
    steps: tuple[StepResult, ...] = ()
    verified: bool = True  # False: the job ran no verifier
    user: str | None = None  # the simulated user's agent
    values: Mapping[str, object] = field(default_factory=dict)


def read_result(result: Any, config: Any, folder: str) -> TrialResult | None:
    """Both documents (any JSON, or None); None where nobody knows whose trial it is."""
    found = obj(result)
    planned = {**obj(config), **obj(found.get("config"))}
    task, agent = _task(found, planned, folder), _agent(found, planned)
    if task is None or (agent is None and not found):
        return None
    agent = agent or AgentName("unknown")
    steps = tuple(_steps(found, planned))
    own = [_failure(found.get("exception_info"), planned)]
    failures = tuple(each for each in own if each) + tuple(f for s in steps for f in s.failures)
    rewards = rewards_of(found.get("verifier_result"))
    return TrialResult(
        task=task,
        agent=agent,
        checksum=text(found, "task_checksum"),
        planned=_planned(planned),
        started=text(found, "started_at"),
        rewards=rewards,
        valid=_valid(found, rewards, failures),
        failures=failures,
        steps=steps,
        verified=obj(planned.get("verifier")).get("disable") is not True,
        user=_user(planned),
        values=_values(found),
    )


def obj(value: Any) -> dict[str, Any]:
    """An object, or an empty one where it is anything else."""
    return value if isinstance(value, dict) else {}


def text(holder: Mapping[str, Any], key: str) -> str:
    """A text on one line, or an empty one."""
    value = holder.get(key)
    return " ".join(clean(value).split()) if isinstance(value, str) else ""


def rewards_of(verifier_result: Any) -> dict[str, float]:
    """Finite numbers by their name; old files keep them without `rewards` round them."""
    found = obj(verifier_result)
    rewards = found.get("rewards", found)
    return {
        clean(name): each
        for name, each in obj(rewards).items()
        if isinstance(each, int | float) and abs(each) <= sys.float_info.max
    }


def _valid(
    found: Mapping[str, Any], rewards: Mapping[str, float], failures: Sequence[Failure]
) -> bool:
    """Whether the rewards count: as the file says, or as Harbor derives it."""
    said = found.get("reward_valid")
    valid = said if isinstance(said, bool) else all(each.valid for each in failures)
    return valid and bool(rewards)


def _failure(info: Any, config: Mapping[str, Any], step: str = "") -> Failure | None:
    found = obj(info)
    if not found:
        return None
    kind = text(found, "exception_type") or "an exception without a type"
    policy = obj(found.get("policy")).get("has_valid_reward")
    if not isinstance(policy, bool):
        overrides = (
            found.get("policy_override"),
            obj(config.get("override_error_policy")).get(kind),
        )
        policy = has_valid_reward(kind, [obj(each) for each in overrides])
    message = text(found, "exception_message")
    return Failure(kind, capped(message, MOST_OF_A_MESSAGE), policy, step)


def _steps(found: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[StepResult]:
    results = found.get("step_results")
    for each in results if isinstance(results, list) else []:
        step = obj(each)
        if name := text(step, "step_name"):
            failure = _failure(step.get("exception_info"), config, name)
            yield StepResult(
                name=name,
                rewards=rewards_of(step.get("verifier_result")),
                failures=(failure,) if failure else (),
                tokens=_tokens(step.get("agent_result")),
            )


def _task(found: Mapping[str, Any], config: Mapping[str, Any], folder: str) -> str | None:
    planned = obj(config.get("task"))
    path = PurePosixPath(text(planned, "path")).name
    known = text(found, "task_name") or text(planned, "name") or path
    stem, separator, _ = folder.rpartition("__")
    return known or (clean(stem) if separator and stem else None)


def _planned(config: Mapping[str, Any]) -> str:
    task = obj(config.get("task"))
    return " ".join(filter(None, (text(task, "path"), text(task, "name"), text(task, "ref"))))


def _agent(found: Mapping[str, Any], config: Mapping[str, Any]) -> AgentName | None:
    info, planned = obj(found.get("agent_info")), obj(config.get("agent"))
    name = text(info, "name") or text(planned, "name") or text(planned, "import_path")
    model = text(obj(info.get("model_info")), "name") or text(planned, "model_name")
    return AgentName(name, model, text(info, "version")) if name else None


def _user(config: Mapping[str, Any]) -> str | None:
    user = obj(config.get("user_agent"))
    agent = {**user, **obj(user.get("agent"))}
    return (text(agent, "name") or text(agent, "model_name") or "unnamed") if user else None


def _tokens(agent_result: Any) -> dict[str, object]:
    found = scalars(agent_result)
    return {name: found[name] for name in _TOKENS if name in found}


def recorded(result: TrialResult) -> dict[str, object]:
    """What the matcher `recorded` is asked for: rewards by name, a step's as `STEP.NAME`.

    A reward that does not count is kept as `invalid.NAME`, where nobody takes it for one.
    """
    values = dict(result.values)
    if result.user is not None:  # Harbor books the simulated user's tokens as the trial's
        values = {f"user.{k}" if k in _TOKENS else k: each for k, each in values.items()}
    about = {"agent": result.agent.name, "model": result.agent.model}
    about |= {"agent_version": result.agent.version, "simulated_user": result.user or ""}
    about["exception_type"] = result.failures[0].type if result.failures else ""
    values |= {name: each for name, each in about.items() if each}
    values["reward_valid"] = result.valid
    for step in result.steps:
        counts = all(each.valid for each in step.failures)
        values |= {
            f"{step.name}.{name}" if counts else f"invalid.{step.name}.{name}": each
            for name, each in step.rewards.items()
        }
    before = "" if result.valid else "invalid."
    return {**values, **{f"{before}{name}": each for name, each in result.rewards.items()}}


def _values(found: Mapping[str, Any]) -> dict[str, object]:
    """What may be asked for beside the rewards."""
    kept = ("trial_name", "task_checksum", "source", "started_at", "finished_at")
    own = scalars({name: found.get(name) for name in kept})
    return {**own, **_tokens(found.get("agent_result"))}
