"""A judge whose verdicts stand in a YAML file: for tests, where no model may be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pytest_dialeval.errors import JudgeFault, SuiteError
from pytest_dialeval.grading.evidence import find_quote
from pytest_dialeval.grading.judge import (
    DECISIONS,
    Citation,
    Decision,
    JudgeQuestion,
    JudgeReply,
)
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.compiling import Check, compile_spec
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.view import View
from pytest_dialeval.suites.form import Flag, Form, Line, RawSpec, RubricId, Whole, one_of
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.source import read_source
from pytest_dialeval.suites.spec import BROKEN, read_spec
from pytest_dialeval.suites.wording import unknown


class _CitationForm(Form):
    noun: ClassVar[str] = "a quote"

    quote: Line = Field(description="words of a turn")
    turn: Whole | None = Field(
        None, description="its id; without it, the first agent turn that has the words"
    )


class _ReplyForm(Form):
    noun: ClassVar[str] = "a scripted reply"

    verdict: Annotated[Decision, one_of(*DECISIONS)] | None = Field(
        None, description="met, not_met or cannot_tell"
    )
    reasoning: Line = Field("the script says so", description="why")
    evidence: list[_CitationForm] = Field([], description="quotes that decide it")
    absence: Flag = Field(False, description="whether it stands on what is nowhere to be found")
    fault: Line | None = Field(None, description="instead of a verdict: the judge fails, saying so")


class _CaseForm(_ReplyForm):
    when: RawSpec | None = Field(None, description="a matcher; always without it")
    again: _ReplyForm | None = Field(
        None, description="the reply when asked again because the first could not stand"
    )


class _ScriptForm(Form):
    noun: ClassVar[str] = "a judge script"

    verdicts: dict[RubricId, Any] = Field(
        description="rubric id: a reply, or several with `when`, of which the first that holds"
    )


@dataclass(frozen=True, slots=True)
class _Case:
    when: Check | None
    first: _ReplyForm
    again: _ReplyForm


@dataclass(frozen=True, slots=True)
class ScriptedJudge:
    """Answers for each rubric as its file says; knows nothing that the file does not."""

    path: str
    cases: Mapping[str, tuple[_Case, ...]]

    @classmethod
    def from_file(
        cls, path: str | Path, matchers: Mapping[str, Matcher] | None = None
    ) -> ScriptedJudge:
        """Read a judge script; SuiteError names every problem with its line.

        `when` may use `matchers`, by default those that ship.
        """
        place = Place(read_source(Path(path), str(path)))
        known = builtin_matchers() if matchers is None else matchers
        cases = _cases(place, known)
        if place.source.problems:
            raise SuiteError(sorted(place.source.problems, key=lambda each: each.line))
        return cls(str(path), cases)

    async def __call__(self, question: JudgeQuestion) -> JudgeReply:
        """The scripted reply; JudgeFault where the file has none."""
        if question.rubric not in self.cases:
            raise JudgeFault(f"{self.path}: {unknown('rubric', question.rubric, [*self.cases])}")
        task = question.task
        view = View(question.turns, question.after, task.language, task.variables, task.prompt)
        for case in self.cases[question.rubric]:
            if case.when is None or case.when(view).matched:
                return _reply(case.again if question.refused else case.first, question)
        raise JudgeFault(f"{self.path}: no reply for {question.rubric!r} holds")


def _cases(place: Place, matchers: Mapping[str, Matcher]) -> dict[str, tuple[_Case, ...]]:
    form = place.read(_ScriptForm)
    found: dict[str, tuple[_Case, ...]] = {}
    for rubric in form.verdicts if form else ():
        cases = [_case(each, matchers) for each in _replies(place.at("verdicts"), rubric)]
        found[rubric] = tuple(each for each in cases if each is not None)
    return found


def _replies(place: Place, rubric: str) -> list[Place]:
    written = place.at(rubric)
    if not isinstance(written.value, list):
        return [written]
    if not written.value:
        written.error(f"{rubric!r} needs a reply")
    return place.items(rubric)


def _case(place: Place, matchers: Mapping[str, Matcher]) -> _Case | None:
    form = place.read(_CaseForm)
    if form is None:
        return None
    for part, reply in ((place, form), (place.at("again"), form.again)):
        if reply is not None and (reply.verdict is None) == (reply.fault is None):
            part.error("a scripted reply needs exactly one of 'verdict' and 'fault'")
    spec = read_spec(place.at("when"), form.when, matchers) if form.when else None
    if spec is BROKEN:
        return None
    when = None if spec is None else compile_spec(spec, matchers)
    return _Case(when, form, form.again or form)


def _reply(form: _ReplyForm, question: JudgeQuestion) -> JudgeReply:
    if form.verdict is None:
        raise JudgeFault(form.fault or "")
    return JudgeReply(
        verdict=form.verdict,
        reasoning=form.reasoning,
        evidence=tuple(
            Citation(each.turn or _turn_with(each.quote, question), each.quote)
            for each in form.evidence
        ),
        absence=form.absence,
    )


def _turn_with(quote: str, question: JudgeQuestion) -> int:
    for turn in (*question.searched(), *question.turns):
        if find_quote(turn, quote):
            return turn.id
    raise JudgeFault(f"the scripted quote {quote!r} stands in no turn")
