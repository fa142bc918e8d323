"""Suite -> ordered trials, with the names that node ids, files and reports use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.plan import Case, PlannedTrial
from pytest_dialeval.records.slug import slug
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.records.transcript import Recording


@dataclass(frozen=True, slots=True)
class RecordedTrial:
    """A planned trial whose conversation exists already."""

    trial: PlannedTrial
    recording: Recording


@dataclass(frozen=True, slots=True)
class Naming:
    """How the trials of one source are told apart.

    `source` is the suite's path from rootdir, or a decorated function's node id; it keeps the
    conversations of two sources apart. `definition` is a digest of the agent's definition.
    """

    source: str
    show_agent: bool

    def name(self, agent: str, persona: str, number: int, width: int) -> str:
        stem = f"{persona}-{number:0{width}d}"
        return f"{agent}-{stem}" if self.show_agent else stem

    def trial(
        self, case: Case, definition: str, number: int, *, of: int, rubrics: tuple[str, ...]
    ) -> PlannedTrial:
        """Trial `number` of the `of` trials of a case."""
        return PlannedTrial(
            id=self.trial_id(case.task, case.agent, definition, case.persona, number),
            suite=self.source,
            task=case.task,
            agent=case.agent,
            persona=case.persona,
            number=number,
            rubrics=rubrics,
            name=self.name(case.agent, case.persona, number, len(str(of))),
        )

    def trial_id(self, task: str, agent: str, definition: str, persona: str, number: int) -> str:
        """A file name of at most 150 characters, whatever the names in it."""
        parts = json.dumps([self.source, definition, task, agent, persona, number])
        digest = blake2b(parts.encode(), digest_size=5).hexdigest()
        return f"{slug(task)}.{slug(agent)}.{slug(persona)}-{number}.{digest}"


def plan_personas(
    suite: Suite,
    naming: Naming,
    agents: Sequence[tuple[str, str]],
    *,
    trials: int,
    personas: Sequence[str] | None = None,
    rubrics: Sequence[str] | None = None,
) -> Iterator[PlannedTrial]:
    """The trials of a suite with personas, in order: agent, persona as written, number.

    `agents` are (name, digest of definition).
    """
    chosen = [each.id for each in suite.personas if personas is None or each.id in personas]
    ids = tuple(each.id for each in suite.rubrics) if rubrics is None else tuple(rubrics)
    for agent, definition in agents:
        for persona in chosen:
            case = Case(suite.task.id, agent, persona)
            for number in range(1, trials + 1):
                yield naming.trial(case, definition, number, of=trials, rubrics=ids)


def plan_recordings(
    suite: Suite, naming: Naming, agent: str, recordings: Iterable[Recording]
) -> Iterator[RecordedTrial]:
    """Each recorded task id is a case, each of its recordings a trial, numbered in order."""
    cases: dict[str, list[Recording]] = {}
    for recording in _each_once(recordings):
        cases.setdefault(recording.task_id, []).append(recording)
    slugs = _slugs(cases)
    ids = tuple(each.id for each in suite.rubrics)
    for task_id, found in cases.items():
        case = Case(suite.task.id, agent, slugs[task_id])
        original = None if case.persona == task_id else task_id
        ordered = sorted(found, key=lambda each: (each.trial is None, each.trial or 0))
        for number, recording in enumerate(ordered, 1):
            trial = naming.trial(case, recording.sha256, number, of=len(found), rubrics=ids)
            yield RecordedTrial(replace(trial, original=original), recording)


def _each_once(recordings: Iterable[Recording]) -> Iterator[Recording]:
    """The recordings; one that is given twice would pass for two trials, so that is refused."""
    known: dict[tuple[object, ...], Recording] = {}
    for each in recordings:
        places: list[tuple[object, ...]] = [(each.sha256, each.index)]
        if each.trial is not None:
            places.append((each.task_id, each.agent, each.trial))
        for place in places:
            other = known.setdefault(place, each)
            if other is not each:
                raise TranscriptError(
                    f"{each.path}: recording {each.index}, task {each.task_id!r}, stands in "
                    f"{other.path} too (recording {other.index}); give each conversation once"
                )
        yield each


def _slugs(task_ids: Iterable[str]) -> dict[str, str]:
    """Each task id's slug; two cases under one name would be pooled, so that is refused."""
    found: dict[str, str] = {}
    for task_id in task_ids:
        other = found.setdefault(slug(task_id), task_id)
        if other != task_id:
            raise TranscriptError(
                f"the recorded task ids {other!r} and {task_id!r} would both be called "
                f"{slug(task_id)!r}; rename one of them in the recordings"
            )
    return {task_id: name for name, task_id in found.items()}
