"""What reports said of dialogue items, held against the ledger.

A conftest hook can rewrite any report; the ledger was written before reports exist. Figures come
from the ledger, and a report that says otherwise is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pytest_dialeval.records.rubric import Rubric
    from pytest_dialeval.records.run import Source, TrialFacts
    from pytest_dialeval.records.verdict import Verdict


class Soft(NamedTuple):
    """A soft failure, with all that an F would say."""

    nodeid: str
    rubric: str
    text: str
    safety: bool = False


class Differing(NamedTuple):
    """A report that the ledger contradicts; `failed`: the ledger says that the item failed."""

    text: str
    failed: bool


NOTHING = "nothing"  # a report came without our record, or none came


# A node id, and: passed, failed, skipped, unmeasured, soft-failed. A plain tuple of texts, which
# the garbage collector does not walk: there is one an item.
_Said = tuple[str, str]


class Reported:
    """Reads reports as they pass; workers' reports too."""

    def __init__(self) -> None:
        self.errors = 0  # failed reports that say nothing about an agent
        self.soft: list[Soft] = []
        self.expected = 0  # items marked xfail
        self.skipped = 0  # items skipped by a mark or a fixture
        self.reruns = 0
        self.seen = False  # whether any dialogue item reported
        self._said: dict[tuple[str, str], _Said] = {}
        self._set_aside: set[tuple[str, str]] = set()  # rerun, marked xfail, or skipped by a mark

    def count(self, report: Any) -> None:
        """Take note of one report."""
        record = getattr(report, "dialeval", None)
        if not isinstance(record, dict) or not {"trial", "rubric"} <= record.keys():
            return
        kind, key = record.get("kind"), (record["trial"], record["rubric"])
        self.seen = True
        rewritten = report.outcome != record.get("outcome")
        if report.when != "call" and report.passed and not rewritten:
            return
        if report.outcome == "rerun" and record.get("reruns"):
            self.reruns += 1
            self._set_aside.add(key)
        elif record.get("xfail") and report.when == "call" and report.failed and kind is None:
            self._say_unless_body(record, report)
        elif rewritten and not hasattr(report, "wasxfail") and report.when != "teardown":
            self._say(record, report, report.outcome)
        elif report.when == "setup" and report.failed and kind is None:
            self.errors += 1  # a fixture's: no verdict was asked for
            self._set_aside.add(key)
        elif hasattr(report, "wasxfail") and record.get("xfail"):
            self.expected += 1
            self._set_aside.add(key)
        elif hasattr(report, "wasxfail"):
            self._say(record, report, "an expected failure")
        elif report.when == "setup" and report.skipped and kind is None:
            self.skipped += 1  # by a mark or a fixture, before its verdict was asked for
            self._set_aside.add(key)
        elif kind == "unmeasured":
            self.errors += report.failed
            self._say(record, report, "unmeasured")
        elif report.when == "call":
            self._say(record, report, kind or report.outcome)
            if kind == "soft-failed":
                safety = bool(record.get("safety"))
                self.soft.append(Soft(report.nodeid, record["rubric"], record["text"], safety))

    def _say_unless_body(self, record: dict[str, Any], report: Any) -> None:
        """A strict xfail that passed fails by pytest's word, a body by its own."""
        if report.longrepr is not None and "XPASS" in str(report.longrepr):
            self.expected += 1
            self._set_aside.add((record["trial"], record["rubric"]))
        else:
            self._say(record, report, report.outcome)

    def _say(self, record: dict[str, str], report: Any, said: str) -> None:
        key = (record["trial"], record["rubric"])
        before = self._said.get(key)
        if before is not None and before[1] == "failed":
            return  # a body with parameters of its own: the worst of its items counts
        if record.get("attempt", 1) == 1:
            self._said[key] = (report.nodeid, said)

    @property
    def asked(self) -> bool:
        """Whether any report stands on a verdict."""
        return bool(self._said)

    @property
    def failed(self) -> bool:
        """Whether a dialogue item failed by its report."""
        return any(said == "failed" for _, said in self._said.values())

    def notes(self) -> Iterator[str]:
        """What the reader of the figures should know."""
        if self.reruns:
            noun = "item was" if self.reruns == 1 else "items were"
            yield f"{self.reruns} {noun} rerun; figures count first attempts alone"
        if self.expected:
            one = self.expected == 1
            noun, as_are = ("item is", "it as it is") if one else ("items are", "them as they are")
            yield f"{self.expected} {noun} marked xfail; figures count {as_are}"
        if self.skipped:
            one = self.skipped == 1
            noun, as_are = (
                ("item was", "it as it is") if one else ("items were", "them as they are")
            )
            yield f"{self.skipped} {noun} skipped by a mark or a fixture; figures count {as_are}"

    def differing(
        self,
        facts: Mapping[str, TrialFacts],
        sources: Sequence[Source],
        *,
        complete: bool,
        ran: bool,
    ) -> list[Differing]:
        """Reports that the ledger contradicts, and items that brought none.

        `complete`: every selected item was to report; `ran`: the run loop came to its end.
        """
        found = list(self._never_came(sources, facts)) if complete and ran else []
        for source in sources:
            rubrics = {each.id: each for each in source.rubrics}
            for trial, selected in source.selected.items():
                known = facts.get(trial)
                for verdict in known.verdicts.values() if known else ():
                    key = (trial, verdict.rubric)
                    if verdict.rubric not in selected or key in self._set_aside:
                        continue
                    said = self._said.get(key)
                    if said is None and complete and verdict.rubric in source.asked.get(trial, ()):
                        said = (f"{trial}, {verdict.rubric}", NOTHING)
                    if said is not None:
                        found += _compared(said, verdict, rubrics[verdict.rubric], source)
        return found

    def _never_came(
        self, sources: Sequence[Source], facts: Mapping[str, TrialFacts]
    ) -> Iterator[Differing]:
        """Items that nobody reported and whose verdict nobody asked for, in one line."""
        from pytest_dialeval.records.wording import plural

        came = self._said.keys() | self._set_aside
        missing = [
            f"{trial}, {rubric}"
            for source in sources
            for trial, asked in source.asked.items()
            for rubric in asked
            if (trial, rubric) not in came
            and (trial not in facts or rubric not in facts[trial].verdicts)
        ]
        if missing:
            text = (
                f"{plural(len(missing), 'selected item')} brought no report, the first: "
                f"{missing[0]}; a hook ran something else in place of them"
            )
            yield Differing(text, failed=False)


def _compared(said: _Said, verdict: Verdict, rubric: Rubric, source: Source) -> list[Differing]:
    hard = source.fails(rubric)
    nodeid, word = said
    if word == NOTHING and verdict.status != "failed":
        return []
    allowed = {
        "passed": {"passed", "unmeasured"},  # a fixture may say that nothing is known
        "failed": {"failed"} if hard else {"soft-failed"},
        "not_applicable": {"skipped", "unmeasured"},
        "unscored": {"unmeasured"},
    }[verdict.status]
    if rubric.spec.method == "body" and verdict.status == "unscored":
        allowed = {"unmeasured", "failed"}  # a broken test fails, and measures nothing
    if word in allowed:
        return []
    text = (
        f"{nodeid}: reported as {word}, but the ledger says {verdict.status}; "
        "something rewrote the report, the figures keep to the ledger"
    )
    return [Differing(text, failed=verdict.status == "failed" and hard)]
