"""What reports said of dialogue items, held against the ledger.

A conftest hook can rewrite any report; the ledger was written before reports exist. Figures come
from the ledger, and a report that says otherwise is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pytest_dialeval.records.rubric import Rubric
    from pytest_dialeval.records.run import Source
    from pytest_dialeval.records.verdict import Verdict
    from pytest_dialeval.runs.directory import RunDirectory


class Differing(NamedTuple):
    """A report that the ledger contradicts; `failed`: the ledger says that the item failed."""

    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class _Said:
    nodeid: str
    said: str  # passed, failed, skipped, unmeasured, soft-failed


class Reported:
    """Reads reports as they pass; workers' reports too."""

    def __init__(self) -> None:
        self.errors = 0  # failed reports that say nothing about an agent
        self.soft: list[tuple[str, str]] = []  # (node id, text)
        self.expected = 0  # items marked xfail
        self.reruns = 0
        self._said: dict[tuple[str, str], _Said] = {}

    def count(self, report: Any) -> None:
        """Take note of one report."""
        record = getattr(report, "dialeval", None)
        if not isinstance(record, dict):
            return
        kind = record.get("kind")
        if report.outcome == "rerun":
            self.reruns += 1
            return
        if hasattr(report, "wasxfail"):
            self.expected += 1
        elif kind == "unmeasured":
            self.errors += report.failed
            self._say(record, report, "unmeasured")
        elif report.when == "call":
            self._say(record, report, kind or report.outcome)
            if kind == "soft-failed":
                self.soft.append((report.nodeid, record["text"]))

    def _say(self, record: dict[str, str], report: Any, said: str) -> None:
        if record.get("attempt", 1) == 1:
            self._said[record["trial"], record["rubric"]] = _Said(report.nodeid, said)

    def notes(self) -> Iterator[str]:
        """What the reader of the figures should know."""
        if self.reruns:
            yield f"{self.reruns} items were rerun; figures count first attempts alone"
        if self.expected:
            yield f"{self.expected} items are marked xfail; figures count them as they are"

    def differing(self, directory: RunDirectory, sources: Sequence[Source]) -> list[Differing]:
        """Reports that the ledger contradicts."""
        from pytest_dialeval.runs.record import read_facts

        facts = read_facts(directory)
        found = []
        for source in sources:
            rubrics = {each.id: each for each in source.rubrics}
            for trial in source.trials:
                known = facts.get(trial.id)
                for rubric in source.selected.get(trial.id, ()) if known else ():
                    verdict = known.verdicts.get(rubric) if known else None
                    said = self._said.get((trial.id, rubric))
                    if verdict is None or said is None:
                        continue
                    found += _compared(said, verdict, rubrics[rubric], source)
        return found


def _compared(said: _Said, verdict: Verdict, rubric: Rubric, source: Source) -> list[Differing]:
    from pytest_dialeval.plugin.outcomes import raises

    hard = raises(source, rubric)
    allowed = {
        "passed": {"passed"},
        "failed": {"failed"} if hard else {"soft-failed"},
        "not_applicable": {"skipped"},
        "unscored": {"unmeasured"},
    }[verdict.status]
    if said.said in allowed:
        return []
    text = (
        f"{said.nodeid}: reported as {said.said}, but the ledger says {verdict.status}; "
        "something rewrote the report, the figures keep to the ledger"
    )
    return [Differing(text, failed=verdict.status == "failed" and hard)]
