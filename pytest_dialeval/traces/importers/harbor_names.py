"""Names for the agents and tasks of a job: as short as tells them apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_dialeval.records.slug import SLUG_LENGTH, slug
from pytest_dialeval.traces.importers.harbor_result import AgentName, TrialResult

# Each says more than the one before; the last is never the same for two.
_WAYS: Sequence[Callable[[AgentName], str]] = (
    lambda agent: _word(agent.name),
    lambda agent: _word(f"{agent.name} {agent.model.rpartition('/')[2]}"),
    lambda agent: _word(f"{agent.name} {agent.model}"),
    lambda agent: _word(f"{agent.name} {agent.model} {agent.version}"),
    lambda agent: slug(f"{agent.name} {agent.model} {agent.version}"),
)


def agent_names(agents: Iterable[AgentName]) -> Mapping[AgentName, str]:
    """`alpha`; where two share that name, with the model, then with the version."""
    found = sorted(set(agents), key=str)
    for way in _WAYS[:-1]:
        names = {each: way(each) for each in found}
        if all(names.values()) and len(set(names.values())) == len(found):
            return names
    return {each: _WAYS[-1](each) for each in found}


def completed(results: Sequence[TrialResult]) -> list[TrialResult]:
    """A trial that was not finished is known by its plan alone: the others say the rest.

    Without that, its agent (of no version) and its task (of no content) would pass for others.
    """
    agents = {each.agent for each in results}
    tasks = {(each.task, each.checksum, each.planned) for each in results if each.checksum}
    return [_completed(each, agents, tasks) for each in results]


def _completed(
    result: TrialResult, agents: Iterable[AgentName], tasks: Iterable[tuple[str, str, str]]
) -> TrialResult:
    fuller = [each for each in agents if _is_fuller(each, result.agent)]
    agent = fuller[0] if len(fuller) == 1 else result.agent
    same = {
        (task, checksum)
        for task, checksum, planned in tasks
        if result.task == task or (planned and planned == result.planned)
    }
    if result.checksum or len(same) != 1:
        return replace(result, agent=agent)
    task, checksum = same.pop()
    return replace(result, agent=agent, task=task, checksum=checksum)


def _is_fuller(one: AgentName, other: AgentName) -> bool:
    """Whether the first says all that the other says, and more."""
    pairs = ((one.model, other.model), (one.version, other.version))
    same = one.name == other.name and all(ours == theirs or not theirs for ours, theirs in pairs)
    return same and one != other


def task_names(tasks: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """(name, checksum) -> the name; with the checksum where one name has several."""
    found = set(tasks)
    count = [name for name, _ in found]
    return {
        (name, checksum): f"{name}@{checksum[:8]}" if count.count(name) > 1 else name
        for name, checksum in found
    }


def _word(text: str) -> str:
    """What node ids and options can hold; empty where nothing of it is left, or it is too long."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return word if len(word) <= SLUG_LENGTH else ""
