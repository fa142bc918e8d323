"""How far a judge can be believed, rubric by rubric, measured against people's labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pytest_dialeval.grading.binding import BY_RULE, Binding, ByRule, binding_of
from pytest_dialeval.grading.labels import PARTS, About, Label, Part
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.statistics.agreement import Share, Table
from pytest_dialeval.statistics.corrected import Corrected, corrected_rate
from pytest_dialeval.statistics.pass_k import CaseCount

_Fate = Literal["used", "disputed", "missing", "undecided", "stale"]


_WHY = {
    "gone": "the rubric is gone, or its suite is not here",
    BY_RULE: "a rule decides the rubric, no judge: there is nothing to calibrate",
}


@dataclass(frozen=True, slots=True)
class RubricCalibration:
    """One rubric's labels of one part, beside the judge's verdicts on the same trials.

    What is not in the table is counted, so that nothing disappears.
    """

    rubric: str
    part: Part
    table: Table
    people: Share  # how often two people agree
    disputed: int = 0  # people disagree, or cannot tell
    missing: int = 0  # no such verdict is stored, or it was not the judge's
    undecided: int = 0  # the judge could not tell, or failed
    stale: int = 0  # made by what is another judge by now
    changed: tuple[str, ...] = ()  # why: model, prompt, rubric, plugin; or one of _WHY

    @property
    def why_stale(self) -> str:
        """What is another today."""
        alone = _WHY.get(self.changed[0]) if len(self.changed) == 1 else None
        return alone or f"{', '.join(self.changed)} changed"

    @property
    def labels(self) -> int:
        """All labelled trials."""
        return self.table.n + self.disputed + self.missing + self.undecided + self.stale


def calibrate(
    labels: Iterable[Label],
    verdicts: Mapping[About, Verdict],
    current: Mapping[str, Binding | ByRule | None],
) -> tuple[RubricCalibration, ...]:
    """One entry for each rubric and part that has labels, in the order of their names.

    `current` says for each rubric what judges it today: BY_RULE where no judge does; None where the
    judge says nothing about itself, and then nothing can be seen to be stale. Verdicts made under
    another binding are not used.
    """
    given: defaultdict[tuple[str, Part], defaultdict[About, list[Label]]]
    given = defaultdict(lambda: defaultdict(list))
    for each in labels:
        given[each.about.rubric, each.part][each.about].append(each)
    order = sorted(given, key=lambda each: (each[0], PARTS.index(each[1])))
    return tuple(_calibrated(*each, given[each], verdicts, current) for each in order)


def corrected_pass_rate(of: RubricCalibration, cases: Sequence[CaseCount]) -> Corrected:
    """The judge's pass rate over these cases, corrected by labels that tuned nothing."""
    if of.part != "acceptance":
        raise ValueError(f"{of.rubric}: tuning labels measure nothing; take the acceptance labels")
    if of.stale and not of.table.n:
        measured = corrected_rate(cases, Table()).measured
        why = f"all labels are stale: {of.why_stale}"
        return Corrected(measured, None, None, None, why)
    return corrected_rate(cases, of.table)


def _calibrated(
    rubric: str,
    part: Part,
    given: Mapping[About, Sequence[Label]],
    verdicts: Mapping[About, Verdict],
    current: Mapping[str, Binding | ByRule | None],
) -> RubricCalibration:
    pairs: Counter[tuple[bool, bool]] = Counter()  # what the judge says, what people say
    fates: Counter[_Fate] = Counter()
    changed: set[str] = set()
    for about, labels in given.items():
        truth, verdict = _agreed(labels), verdicts.get(about)
        why = _changes(rubric, verdict, current)
        fate = _fate(truth, verdict, why, bound=current.get(rubric) is not None)
        fates[fate] += 1
        if fate == "stale":
            changed.update(why)
        elif fate == "used" and verdict is not None and truth is not None:
            pairs[verdict.status == "passed", truth] += 1
    return RubricCalibration(
        rubric,
        part,
        Table(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]),
        people=_between_people(given.values()),
        disputed=fates["disputed"],
        missing=fates["missing"],
        undecided=fates["undecided"],
        stale=fates["stale"],
        changed=tuple(sorted(changed)),
    )


def _fate(truth: bool | None, verdict: Verdict | None, why: Sequence[str], *, bound: bool) -> _Fate:
    if why:
        return "stale"
    if verdict is None:
        return "missing"
    if verdict.status not in ("passed", "failed"):
        return "undecided"
    # A crash fails a rubric without asking the judge.
    if bound and binding_of(verdict.details) is None:
        return "missing"
    return "disputed" if truth is None else "used"


def _changes(
    rubric: str, verdict: Verdict | None, current: Mapping[str, Binding | ByRule | None]
) -> tuple[str, ...]:
    if rubric not in current:
        return ("gone",)
    then, now = binding_of(verdict.details) if verdict else None, current[rubric]
    if now == BY_RULE:
        return (BY_RULE,)
    if then is None:
        return ()
    # A judge that says nothing about itself now is another one than that which did.
    return ("model",) if now is None else then.changed(now)


def _agreed(labels: Sequence[Label]) -> bool | None:
    """What most people say; None where they are even, or most cannot tell."""
    count = Counter(each.met for each in labels)
    for word in (True, False):
        if 2 * count[word] > len(labels):
            return word
    return None


def _between_people(given: Iterable[Sequence[Label]]) -> Share:
    pairs = [pair for labels in given for pair in combinations(labels, 2)]
    return Share.of(sum(one.met == other.met for one, other in pairs), len(pairs))
