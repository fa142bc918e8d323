"""Which results of two runs belong together, what differs, and what forbids to compare them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.wording import did_you_mean, listed
from pytest_dialeval.runs.baseline import AgentResults, Baseline, CaseResults, TaskResults

_SHOWN = 4
# Said otherwise, or of no weight: where a run stands, how fast it goes, what bounds it had.
_SILENT = re.compile("agent|trials|seed|model|label|runs|concurrency|ahead|record|budget|decide")
_BOUND = re.compile("baseline|regrade|distinct-models|(?:min|max)-.*")


class Change(NamedTuple):
    """One thing that is not the same in both runs; `before` is empty where `after` says it all."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        way = f"{self.before} -> " if self.before else ""
        return f"{self.what}: {way}{self.after}"


@dataclass(frozen=True, slots=True)
class Match:
    """One agent of a task in the earlier run beside one in the later run."""

    tasks: tuple[TaskResults, TaskResults]
    agents: tuple[AgentResults, AgentResults]

    @property
    def name(self) -> str:
        """`shop / clerk`, or `shop / old -> new`."""
        before, after = (each.name for each in self.agents)
        return f"{self.tasks[1].id} / {before if before == after else f'{before} -> {after}'}"

    def cases(self) -> list[tuple[CaseResults, CaseResults]]:
        """The cases that both have."""
        known = {each.persona: each for each in self.agents[0].cases}
        return [
            (known[each.persona], each) for each in self.agents[1].cases if each.persona in known
        ]

    @property
    def paired(self) -> bool:
        """Whether trials of one number met the same user."""
        users = {each.models.get("user") for each in self.agents}
        return self.tasks[0].seed == self.tasks[1].seed and len(users) == 1


@dataclass(frozen=True, slots=True)
class Matching:
    """What can be put side by side, and what is in one run alone."""

    matches: tuple[Match, ...]
    alone: tuple[str, ...] = ()
    problem: str = ""  # why nothing can be put side by side


def match_up(
    before: Baseline, after: Baseline, *, against: str | None = None, agent: str | None = None
) -> Matching:
    """Tasks by id, agents by name; `agent` of the later run beside `against` of the earlier.

    RunError where a run has no agent of that name.
    """
    _known(before, against or agent)
    _known(after, agent or against)
    tasks = list(_tasks(before, after))
    if not tasks:
        names = " and ".join(
            f"{each.run_id} has {listed(_ids(each.tasks), _SHOWN) or 'no task'}"
            for each in (before, after)
        )
        return Matching((), problem=f"these are runs of different suites: {names}")
    matches = tuple(
        Match(pair, agents) for pair in tasks for agents in _agents(*pair, against, agent)
    )
    if not matches:
        names = " and ".join(
            f"{each.run_id} has {listed(sorted(_agent_names(each)), _SHOWN)}"
            for each in (before, after)
        )
        problem = f"no agent is in both runs ({names}); choose with --against NAME and --agent NAME"
        return Matching((), problem=problem)
    alone = [*_alone(before, after, tasks)]
    if against is None and agent is None:
        alone += _agents_alone(before, after, matches)
    return Matching(matches, tuple(alone))


def _ids(tasks: Iterable[TaskResults]) -> list[str]:
    return list(dict.fromkeys(each.id for each in tasks))


def _agent_names(run: Baseline) -> set[str]:
    return {agent.name for task in run.tasks for agent in task.agents}


def _known(run: Baseline, agent: str | None) -> None:
    names = sorted(_agent_names(run))
    if agent is not None and agent not in names:
        have = ", ".join(names) or "none"
        raise RunError(
            f"{run.run_id} has no agent {agent!r} (it has {have}){did_you_mean(agent, names)}"
        )


def _tasks(before: Baseline, after: Baseline) -> Iterator[tuple[TaskResults, TaskResults]]:
    """By id and file; by id alone where one file has it in either run."""
    for task in after.tasks:
        namesakes = [each for each in before.tasks if each.id == task.id]
        same = [each for each in namesakes if each.source == task.source]
        only = len(namesakes) == 1 and sum(each.id == task.id for each in after.tasks) == 1
        if same or only:
            yield (same or namesakes)[0], task


def _agents(
    before: TaskResults, after: TaskResults, against: str | None, agent: str | None
) -> Iterator[tuple[AgentResults, AgentResults]]:
    known = {each.name: each for each in before.agents}
    for each in after.agents:
        if against is not None or agent is not None:
            wanted = known.get(against or agent or "")
            if each.name == (agent or against) and wanted:
                yield wanted, each
        elif each.name in known:
            yield known[each.name], each
        elif len(before.agents) == len(after.agents) == 1:
            yield before.agents[0], each


def _alone(
    before: Baseline, after: Baseline, tasks: Sequence[tuple[TaskResults, TaskResults]]
) -> Iterator[str]:
    for place, run in enumerate((before, after)):
        matched = [pair[place].source for pair in tasks]
        left = _ids(each for each in run.tasks if each.source not in matched)
        if left:
            yield f"only in {run.run_id}: task {listed(left, _SHOWN)}"


def _agents_alone(before: Baseline, after: Baseline, matches: Sequence[Match]) -> Iterator[str]:
    """Agents of tasks that both have, of which one run knows nothing."""
    for place, run in enumerate((before, after)):
        for task in run.tasks:
            own = [each for each in matches if each.tasks[place] is task]
            met = {each.agents[place].name for each in own}
            if left := [each.name for each in task.agents if own and each.name not in met]:
                noun = "agent" if len(left) == 1 else "agents"
                yield f"only in {run.run_id}: {noun} {listed(left, _SHOWN)} of {task.id}"


# ---- what differs


def changes(match: Match, before: Baseline, after: Baseline) -> list[Change]:
    """What is not the same, from the agent to our own version."""
    found = [*_agent_changes(*match.agents), *_task_changes(match)]
    settings = (_shown(before), _shown(after))
    for name in dict.fromkeys([*settings[0], *settings[1]]):
        found.append(
            Change(f"setting {name}", *(each.get(name, "the default") for each in settings))
        )
    versions = [each.plugin_version or "unknown" for each in (before, after)]
    found.append(Change("plugin version", versions[0], versions[1]))
    return [each for each in found if each.before != each.after]


def _shown(run: Baseline) -> dict[str, str]:
    silent = (_SILENT.fullmatch, _BOUND.fullmatch)
    return {
        name: str(each)
        for name, each in run.settings.items()
        if not any(matches(name) for matches in silent)
    }


def _agent_changes(before: AgentResults, after: AgentResults) -> Iterator[Change]:
    yield Change("agent", before.name, after.name)
    yield Change("agent version", before.version or "none", after.version or "none")
    yield Change("what the agent is", before.use, after.use)
    for role in dict.fromkeys([*before.models, *after.models]):
        yield Change(
            f"model of the {role}", before.models.get(role, "none"), after.models.get(role, "none")
        )


def _task_changes(match: Match) -> Iterator[Change]:
    before, after = match.tasks
    changed = [
        path
        for path in dict.fromkeys([*before.files, *after.files])
        if before.files.get(path) != after.files.get(path)
    ]
    yield Change("suite", before.source, after.source)
    if changed and before.source == after.source:
        yield Change("changed files of the suite", "", listed(changed, _SHOWN))
    yield Change("seed", before.seed, after.seed)
    counts = [_trials(each) for each in match.agents]
    yield Change("trials a case", counts[0], counts[1])


def _trials(agent: AgentResults) -> str:
    counts = sorted({len(each.trials) for each in agent.cases})
    return " to ".join(str(each) for each in dict.fromkeys(counts[:1] + counts[-1:]))


# ---- what forbids it


def obstacles(match: Match, before: Baseline, after: Baseline) -> list[str]:
    """Why the two must not be compared; empty where they may."""
    return [
        *_contract(*match.tasks),
        *_graders(*match.tasks),
        *_judging(before, after),
        *([] if match.cases() else ["no case is in both runs"]),
    ]


def _contract(before: TaskResults, after: TaskResults) -> Iterator[str]:
    if before.version != after.version:
        yield f"the task's version differs: {before.version} -> {after.version}"
    if before.scoring != after.scoring:
        yield f"a trial passes by another rule: {before.scoring} -> {after.scoring}"
    for where, names in (
        ("before", before.rubrics.keys() - after.rubrics.keys()),
        ("after", after.rubrics.keys() - before.rubrics.keys()),
    ):
        if names:
            noun = "rubric is" if len(names) == 1 else "rubrics are"
            yield f"{noun} graded only {where}: {listed(sorted(names), _SHOWN)}"
    shared = [each for each in before.rubrics if each in after.rubrics]
    changed = [e for e in shared if before.rubrics[e].digest != after.rubrics[e].digest]
    if changed:
        yield f"rubrics were rewritten: {listed(changed, _SHOWN)}"


def _graders(before: TaskResults, after: TaskResults) -> Iterator[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for name in before.rubrics.keys() & after.rubrics.keys():
        judges = before.rubrics[name].judge, after.rubrics[name].judge
        if judges[0] and judges[1] and judges[0] != judges[1]:
            found.setdefault((judges[0], judges[1]), []).append(name)
    for (first, second), names in found.items():
        yield f"the judge of {listed(sorted(names), _SHOWN)} differs: {first} -> {second}"


def _judging(before: Baseline, after: Baseline) -> Iterator[str]:
    left_out = [each.settings.get("no-judge") is True for each in (before, after)]
    if left_out[0] != left_out[1]:
        yield f"judged rubrics were left out only {'before' if left_out[0] else 'after'}"
