"""Verdict -> what pytest makes of the item (the table of design section 3).

Setup obtains the evidence, the call asserts it: nothing may cross the line between "the agent is
bad" and "we don't know".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import pytest

from pytest_dialeval.errors import DialevalError, NotMeasured
from pytest_dialeval.plugin.clear_report import clear_report, each_text
from pytest_dialeval.plugin.failure import failure_text, score_text, where_lines
from pytest_dialeval.records.text import visible

if TYPE_CHECKING:
    from pytest_dialeval.plugin.collection import Cell
    from pytest_dialeval.records.run import Graded
    from pytest_dialeval.records.verdict import TrialScore

_TO_JUDGE = (
    "  to have it judged: --dialeval-model judge=openai:NAME; "
    "to leave judged rubrics out: --dialeval-no-judge"
)
Kind = Literal["soft-failed", "unmeasured"]
KIND: pytest.StashKey[Kind] = pytest.StashKey()
TEXT: pytest.StashKey[str] = pytest.StashKey()
GRADED: pytest.StashKey[list[Graded]] = pytest.StashKey()
SCORE: pytest.StashKey[TrialScore] = pytest.StashKey()


def obtain(item: pytest.Item, cell: Cell, fixture: object) -> None:
    """Get the item's verdicts, in setup; what can't be known ends here."""
    _forget(item, KIND)  # what an attempt before this one left
    _forget(item, SCORE)
    graded = _graded_or_why(item, cell, fixture)
    if isinstance(graded, str):
        unmeasured(item, cell, graded)
    item.stash[GRADED] = graded
    if (seconds := graded[0].conversation.seconds) is not None:
        # The first item that waits is charged with the wait: its own time says little.
        item.user_properties.append(("dialeval_conversation_seconds", seconds))
    if cell.kind == "score":
        _obtain_score(item, cell, graded)
    elif graded[0].verdict.status == "unscored":
        unmeasured(item, cell, _why_unscored(graded[0]), graded[0])


def _graded_or_why(item: pytest.Item, cell: Cell, fixture: object) -> list[Graded] | str:
    try:
        return cell.source.engine.run().obtain(item, cell, fixture)
    except DialevalError as error:
        return str(error)


def _forget(item: pytest.Item, key: pytest.StashKey[Any]) -> None:
    if key in item.stash:
        del item.stash[key]


def _why_unscored(graded: Graded) -> str:
    verdict = graded.verdict
    return f"{verdict.reason} ({verdict.fault})" if verdict.fault else verdict.reason


def _obtain_score(item: pytest.Item, cell: Cell, graded: list[Graded]) -> None:
    from pytest_dialeval.grading.scoring import score_trial

    verdicts = {each.verdict.rubric: each.verdict for each in graded}
    suite = cell.source.suite
    score = score_trial(suite.rubrics, verdicts, suite.scoring, graded[0].conversation.outcome)
    item.stash[SCORE] = score
    if not score.measured:
        unmeasured(item, cell, score.why, graded[0])


def unmeasured(item: pytest.Item, cell: Cell, why: str, graded: Graded | None = None) -> NoReturn:
    """End the setup: the item is E, never F."""
    item.stash[KIND] = "unmeasured"
    item.stash[TEXT] = _unmeasured_text(item, cell, _once(item, cell, why), graded)
    pytest.fail(item.stash[TEXT], pytrace=False)


def _unmeasured_text(item: pytest.Item, cell: Cell, why: str, graded: Graded | None) -> str:
    """The reason, and where the conversation stands if there was one."""
    from pytest_dialeval.grading.grade import NO_JUDGE

    lines = [f"unmeasured: {why}"]
    if graded is not None and (graded.conversation.trace or graded.conversation.recording):
        lines += where_lines(item, cell, graded)
        if why.startswith(NO_JUDGE):
            lines.append(_TO_JUDGE)
    return visible("\n".join(lines))


def _once(item: pytest.Item, cell: Cell, why: str) -> str:
    """The reason; a long one that an item before this one told in full, by its first line."""
    first, more, _ = why.partition("\n")
    if not more or cell.source.decide == "gates":  # whose reasons are not shown above
        return why
    teller = cell.source.engine.told.setdefault(why, item.nodeid)
    return why if teller == item.nodeid else f"{first} (in full at {teller}, above)"


def decide(item: pytest.Item, cell: Cell) -> None:
    """Assert the verdict, in the call."""
    if cell.kind == "score":
        if not item.stash[SCORE].passed:
            text = score_text(item, cell, item.stash[SCORE])
            if cell.source.decide == "items":
                pytest.fail(text, pytrace=False)
            _soften(item, text, text.splitlines()[0])
        return
    graded = item.stash[GRADED][0]
    if graded.verdict.status == "not_applicable":
        pytest.skip(visible(graded.verdict.reason))
    if graded.verdict.status == "failed":
        text = failure_text(item, cell, graded)
        if cell.rubric is None or cell.source.fails(cell.rubric):
            pytest.fail(text, pytrace=False)
        _soften(item, text, graded.verdict.reason)


def _soften(item: pytest.Item, text: str, reason: str) -> None:
    """A soft failure does not raise: --pdb, -x and --lf pass it by."""
    item.stash[KIND] = "soft-failed"
    item.stash[TEXT] = text
    item.user_properties.append(("dialeval", "soft-failed"))
    item.user_properties.append(("dialeval_reason", reason))


def mark_report(item: pytest.Item, cell: Cell, call: pytest.CallInfo[None], report: Any) -> None:
    """Put a plain-JSON record on the report; it crosses to an xdist controller."""
    _settle_outcome(item, cell, call, report)
    if report.when == "teardown":
        _forget(item, GRADED)  # all that is still wanted of it stands in the ledger
    if cell.source.engine.running is not None:
        clear_report(report, cell.source.engine.running.redaction.text)
    # As we leave it: an outer hook that changes it afterwards is found out.
    report.dialeval["outcome"] = report.outcome


def _settle_outcome(
    item: pytest.Item, cell: Cell, call: pytest.CallInfo[None], report: Any
) -> None:
    report.dialeval = {
        "trial": cell.trial.id,
        "rubric": cell.name,
        "attempt": getattr(item, "execution_count", 1),
        # The test's own word: a hook can claim an expected failure on any report.
        "xfail": cell.kind == "body" or (_decides(report) and _has_mark(item)),
        "reruns": hasattr(item, "execution_count"),  # pytest-rerunfailures counts them
    }
    if report.when == "teardown":  # a fixture's affair
        return
    if call.excinfo is not None and isinstance(call.excinfo.value, NotMeasured):
        item.stash[KIND] = "unmeasured"
        report.when, report.outcome = "setup", "failed"  # JUnit and the summary count an error
        graded = item.stash.get(GRADED, [None])[0]
        text = _unmeasured_text(item, cell, str(call.excinfo.value), graded)
        report.longrepr = item.stash[TEXT] = text
    _point_at_rubric(item, report)
    kind = item.stash.get(KIND, None)
    if cell.kind == "body" and report.when == "call" and report.failed:
        each_text(report.longrepr, visible)
        lines = where_lines(item, cell, item.stash[GRADED][0])
        report.sections.append(("dialogue", "\n".join(each.strip() for each in lines if each)))
    if report.when == "call" and report.skipped and isinstance(report.longrepr, tuple):
        path, line, _ = item.reportinfo()
        report.longrepr = (str(path), (line or 0) + 1, report.longrepr[2])
    if kind == "soft-failed" and report.when == "call" and report.passed:
        safety = cell.rubric is not None and cell.rubric.dimension == "safety"
        report.dialeval |= {"kind": kind, "text": item.stash[TEXT], "safety": safety}
    if kind == "unmeasured" and report.failed:
        report.dialeval |= {"kind": kind}
        if cell.source.decide == "gates":
            path, line, _ = item.reportinfo()
            report.outcome = "skipped"
            report.longrepr = (str(path), (line or 0) + 1, item.stash[TEXT])


def _decides(report: Any) -> bool:
    """Whether it may tell of an expected failure; marks are looked up in every parent."""
    return report.when == "call" or not report.passed


def _has_mark(item: pytest.Item) -> bool:
    return item.get_closest_marker("xfail") is not None


def _point_at_rubric(item: pytest.Item, report: Any) -> None:
    """Pytest's short forms name the line that raised: here the rubric's, not one of ours."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and Path(__file__).parent in Path(crash.path).parents:
        path, line, _ = item.reportinfo()
        crash.path, crash.lineno = str(path), (line or 0) + 1
        # In CI pytest's short summary says the whole message, which stands above it already.
        crash.message = crash.message.removeprefix("Failed: ").partition("\n")[0]


def status_of(report: Any) -> tuple[str, str, str] | None:
    """(category, letter, word) of reports that are neither passed nor failed."""
    found = getattr(report, "dialeval", None)
    kind = found.get("kind") if isinstance(found, dict) else None
    if kind == "soft-failed" and report.when == "call":
        return "soft-failed", "f", "SOFT-FAILED"
    if kind == "unmeasured" and report.skipped:
        return "unmeasured", "u", "UNMEASURED"
    return None
