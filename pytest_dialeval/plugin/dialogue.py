"""What a decorated test's body holds: the conversation, and expectations of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_dialeval.errors import NotMeasured, SpecError
from pytest_dialeval.grading.grade import CompiledRubric, Dialogue, grade_by_rule
from pytest_dialeval.grading.judge import NoJudge
from pytest_dialeval.matching.compiling import compile_spec, spec_of
from pytest_dialeval.plugin.failure import turn_lines
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.task import MatcherSpec, Task
from pytest_dialeval.records.text import visible
from pytest_dialeval.records.transcript import Outcome, Transcript, Turn
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.excerpt import excerpt

if TYPE_CHECKING:
    from pytest_dialeval.plugin.collection import Cell


class ExpectationFailed(AssertionError):
    """An expectation of a test's body does not hold."""

    __module__ = "builtins"  # pytest's short summary has room for little but the message


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TestDialogue:
    """One finished conversation; the value of the fixture `dialogue`."""

    __test__ = False  # no test class, whatever its name

    transcript: Transcript
    task: Task
    persona: str
    agent: str
    trial: int
    expect: Expect

    def __repr__(self) -> str:
        return f"<dialogue {self.persona}-{self.trial}, {len(self.turns)} turns, {self.outcome}>"

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.transcript.turns

    @property
    def outcome(self) -> Outcome:
        return self.transcript.outcome


class Expect:
    """`expect.<matcher>(**params)`: returns the verdict, fails the test, or skips it."""

    def __init__(self, cell: Cell, transcript: Transcript) -> None:
        self._cell = cell
        self._dialogue = Dialogue(
            transcript, cell.source.suite.task, cell.trial.case, cell.trial.number
        )

    def __getattr__(self, name: str) -> Callable[..., Verdict]:
        if name.startswith("__"):
            raise AttributeError(name)

        def expectation(*args: object, **params: object) -> Verdict:
            __tracebackhide__ = True
            if len(args) + bool(params) > 1:
                text = "give one value, or its parameters by name"
                raise TypeError(f"dialogue.expect.{name}: {text}, not both")
            value = args[0] if args else params
            return self._hold(self._rubric(name.rstrip("_"), value))

        return expectation

    def judge(self, criterion: str, **params: object) -> Verdict:
        """Ask the judge; NotMeasured where there is none, or it cannot tell."""
        __tracebackhide__ = True
        spec = MatcherSpec("judge", {"criterion": criterion, **params})
        return self._hold(CompiledRubric(Rubric("expect.judge", "completion", spec), None, None))

    def _rubric(self, name: str, value: object) -> CompiledRubric:
        __tracebackhide__ = True
        matchers = self._cell.source.offers.matchers
        spec = spec_of(name, value, matchers)
        try:
            check = compile_spec(spec, matchers)
        except SpecError as error:
            raise TypeError(f"dialogue.expect.{name}: {error}") from None
        return CompiledRubric(Rubric(f"expect.{name}", "completion", spec), check, None)

    def _hold(self, rubric: CompiledRubric) -> Verdict:
        __tracebackhide__ = True
        verdict = self._grade(rubric)
        if verdict.status == "unscored":
            raise NotMeasured(verdict.reason)
        if verdict.status == "not_applicable":
            pytest.skip(visible(verdict.reason))
        if verdict.status == "failed":
            raise ExpectationFailed(visible(self._text(rubric, verdict)))
        return verdict

    def _grade(self, rubric: CompiledRubric) -> Verdict:
        if rubric.check is not None:
            return grade_by_rule(rubric, self._dialogue)
        running = self._cell.source.engine.run()
        criteria = running.criteria(self._cell.source)
        if criteria is None:
            judge = NoJudge() if self._cell.source.no_judge else None
            return grade_by_rule(rubric, self._dialogue, judge)
        verdict = running.pool.call(criteria.ask(rubric, self._dialogue))
        if verdict.fault == "judge_error":
            running.body_unmeasured(self._cell.source, self._dialogue.case, self._dialogue.trial)
        return verdict

    def _text(self, rubric: CompiledRubric, verdict: Verdict) -> str:
        lines = [f"{rubric.rubric.spec.method}: {verdict.reason}"]
        if verdict.expected:
            lines.append(f"  expected: {verdict.expected}")
        lines += turn_lines(excerpt(self._dialogue.transcript, verdict), verdict)
        return "\n".join(lines)


def made(cell: Cell, transcript: Transcript) -> TestDialogue:
    """The value of `dialogue` in a body."""
    return TestDialogue(
        transcript=transcript,
        task=cell.source.suite.task,
        persona=cell.trial.persona,
        agent=cell.trial.agent,
        trial=cell.trial.number,
        expect=Expect(cell, transcript),
    )
