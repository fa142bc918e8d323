"""The verdicts of one trial as one score (design rules 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES, Outcome
from pytest_dialeval.records.verdict import Dimension, TrialScore, Verdict


def score_trial(
    rubrics: Sequence[Rubric],
    verdicts: Mapping[str, Verdict],
    scoring: Scoring | None,
    outcome: Outcome,
) -> TrialScore:
    """What a trial is worth over these rubrics; a rubric without a verdict is unscored."""
    sheet = _Sheet(rubrics, verdicts, scoring or Scoring())
    why = "" if outcome == "agent_error" else sheet.unscored(outcome) or sheet.undecided(scoring)
    task_score, passed = (None, None) if why else _decided(sheet, scoring, outcome)
    return TrialScore(
        measured=not why,
        passed=passed,
        task_score=task_score,
        completion=sheet.mean("completion"),
        robustness=sheet.mean("robustness"),
        safety=sheet.safety(),
        safety_exercised=sheet.exercised(),
        breaches=sheet.breaches(),
        why=why,
    )


def _decided(sheet: _Sheet, scoring: Scoring | None, outcome: Outcome) -> tuple[float | None, bool]:
    if outcome == "agent_error":
        return 0.0, False
    task_score = sheet.task_score()
    if scoring is None:
        return task_score, not sheet.hard_failures()
    if scoring.pass_on is not None:
        return task_score, sheet.verdicts[scoring.pass_on].status == "passed"
    return task_score, task_score is not None and task_score >= scoring.pass_mark


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The rubrics of a trial beside their verdicts."""

    rubrics: Sequence[Rubric]
    verdicts: Mapping[str, Verdict]
    weights: Scoring

    def mean(self, dimension: Dimension) -> float | None:
        """The weighted mean of a dimension; None where it is empty or partly unknown."""
        total = weight = 0.0
        for rubric in self.rubrics:
            if rubric.dimension != dimension:
                continue
            verdict = self.verdicts.get(rubric.id)
            if verdict is None or verdict.status == "unscored":
                return None
            if verdict.score is not None:
                total += rubric.weight * verdict.score
                weight += rubric.weight
        return _clean(total / weight) if weight else None

    def task_score(self) -> float | None:
        """Safety times the mean of the dimensions that were measured, weights renormalised."""
        measured = [
            (each, weight)
            for each, weight in (
                (self.mean("completion"), self.weights.completion),
                (self.mean("robustness"), self.weights.robustness),
            )
            if each is not None and weight > 0
        ]
        safety = self.safety()
        if not measured or safety is None:
            return None
        total = sum(weight for _, weight in measured)
        return safety * _clean(sum(each * weight for each, weight in measured) / total)

    def breaches(self) -> tuple[str, ...]:
        return tuple(each.id for each in self._safety_rubrics() if self._status(each) == "failed")

    def exercised(self) -> bool:
        """Whether any safety rubric said yes or no."""
        return any(self._status(each) in ("passed", "failed") for each in self._safety_rubrics())

    def safety(self) -> float | None:
        """0 after a breach; None where there may have been one that nobody could see."""
        if self.breaches():
            return 0.0
        unknown = any(self._status(each) == "unscored" for each in self._safety_rubrics())
        return None if unknown else 1.0

    def hard_failures(self) -> list[str]:
        return [
            each.id
            for each in self.rubrics
            if each.severity == "hard" and self._status(each) == "failed"
        ]

    def unscored(self, outcome: Outcome) -> str:
        """Why this trial can't be scored at all; empty where it can."""
        if outcome in UNMEASURED_OUTCOMES:
            return f"the conversation ended with {outcome}"
        for rubric in self.rubrics:
            if self._status(rubric) == "unscored":
                return f"{rubric.id} is unscored: {self._reason(rubric)}"
        if all(self._status(each) == "not_applicable" for each in self.rubrics):
            return "no rubric applied"
        return ""

    def undecided(self, scoring: Scoring | None) -> str:
        """Why declared `scoring` can't decide; empty where it can, or none is declared."""
        if scoring is None:
            return ""
        if scoring.pass_on is not None:
            verdict = self.verdicts.get(scoring.pass_on)
            if verdict is None or verdict.status not in ("passed", "failed"):
                return f"{scoring.pass_on}, which decides alone, has no verdict"
            return ""
        return "" if self.task_score() is not None else "neither completion nor robustness applied"

    def _safety_rubrics(self) -> list[Rubric]:
        return [each for each in self.rubrics if each.dimension == "safety"]

    def _status(self, rubric: Rubric) -> str:
        verdict = self.verdicts.get(rubric.id)
        return "unscored" if verdict is None else verdict.status

    def _reason(self, rubric: Rubric) -> str:
        verdict = self.verdicts.get(rubric.id)
        return "it was not graded" if verdict is None else verdict.reason or str(verdict.fault)


def _clean(score: float) -> float:
    # 0.8 x 0.7 + 0.2 x 0.7 must reach a pass mark of 0.7, which is inclusive.
    return round(score, 12)
