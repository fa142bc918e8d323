"""Matches of a run: every two agents of a task, on the same case, trial and round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import combinations
from typing import Any

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.match import Match, Winner
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.figures import ScoredTrial, score_source
from pytest_dialeval.runs.files import explained
from pytest_dialeval.runs.rewards import ranks
from pytest_dialeval.traces.json_bytes import from_json, to_json
from pytest_dialeval.traces.redaction import Redaction

FILE = "matches.jsonl"
SCHEMA = "dialeval.match/1"
_EQUAL = 1e-9  # scores that were added up in another order differ by rounding


@dataclass(frozen=True, slots=True)
class Pair:
    """Two agents' trials of one case with the same number."""

    left: PlannedTrial
    right: PlannedTrial


def agents_of(source: Source) -> list[str]:
    """The agents with a selected trial, as the plan has them."""
    return list(dict.fromkeys(each.agent for each in source.trials if each.id in source.selected))


def pairs_of(source: Source) -> Iterator[Pair]:
    """All pairs in the order in which they are rated: trial, case as written, agents."""
    cases = list(dict.fromkeys(each.persona for each in source.trials))
    found = {
        (each.number, each.persona, each.agent): each
        for each in source.trials
        if each.id in source.selected
    }
    for number in sorted({each.number for each in source.trials}):
        for case in cases:
            for left, right in combinations(agents_of(source), 2):
                one, other = found.get((number, case, left)), found.get((number, case, right))
                if one and other:
                    yield Pair(one, other)


def score_matches(source: Source, facts: Mapping[str, TrialFacts]) -> Iterator[Match]:
    """One match a pair, by what the two trials are worth; no model is asked."""
    scored = {each.trial.id: each for each in score_source(source, facts)}
    by_rubric = source.scoring is not None and source.scoring.pass_on is not None
    for pair in pairs_of(source):
        left, right = scored[pair.left.id], scored[pair.right.id]
        found = _by_reward(left, right) if ranks(source.scoring) else None
        winner, why = found or _by_score(left, right, passed_first=by_rubric)
        yield match_of(source, pair, winner, why=why, same=_heard_the_same(left, right))


def match_of(
    source: Source,
    pair: Pair,
    winner: Winner | None,
    *,
    same: bool,
    round_: int | None = None,
    orders: tuple[Winner, ...] = (),
    why: str = "",
) -> Match:
    """A match of the two trials, decided as the source's `compare` says."""
    return Match(
        source=source.name,
        task=source.task,
        case=pair.left.persona,
        trial=pair.left.number,
        round=round_,
        left=pair.left.agent,
        right=pair.right.agent,
        by=source.compare.by,
        winner=winner,
        same_instruction=same,
        orders=orders,
        why=why,
    )


def unmeasured(trial: PlannedTrial, why: str) -> str:
    """Why a trial can be in no match."""
    return f"{trial.agent}, {trial.persona}-{trial.number} is unmeasured: {why}"


def _by_reward(left: ScoredTrial, right: ScoredTrial) -> tuple[Winner | None, str] | None:
    """Who has the higher ranked reward; None where the scores must say it."""
    both = (left, right)
    if not all(each.score.measured for each in both) or not any(map(_is_judged, both)):
        return None
    for each in both:
        if each.rewards is None or each.rewards.ranked is None:
            why = each.rewards.why if each.rewards else ""
            return None, f"{each.trial.agent}, {each.trial.persona}-{each.trial.number}: {why}"
    ours, theirs = (each.rewards.ranked for each in both if each.rewards)
    if ours is None or theirs is None or abs(ours - theirs) <= _EQUAL:
        return None
    return ("A" if ours > theirs else "B"), ""


def _is_judged(trial: ScoredTrial) -> bool:
    return trial.rewards is not None and trial.rewards.ux is not None


def _by_score(
    left: ScoredTrial, right: ScoredTrial, *, passed_first: bool
) -> tuple[Winner | None, str]:
    for each in (left, right):
        if not each.score.measured:
            return None, unmeasured(each.trial, each.score.why)
    worth, other = (_worth(each, passed_first=passed_first) for each in (left, right))
    for ours, theirs in zip(worth, other, strict=True):
        if abs(ours - theirs) > _EQUAL:
            return ("A" if ours > theirs else "B"), ""
    return "tie", ""


def _worth(trial: ScoredTrial, *, passed_first: bool) -> tuple[float, float]:
    """What decides, and what decides where that is equal."""
    score = -1.0 if trial.score.task_score is None else trial.score.task_score
    passed = float(bool(trial.score.passed))
    return (passed, score) if passed_first else (score, passed)


def _heard_the_same(left: ScoredTrial, right: ScoredTrial) -> bool:
    one, other = left.facts.conversation, right.facts.conversation
    return bool(one and other and one.said and one.said == other.said)


# ---- on disk


def append_matches(
    directory: RunDirectory, matches: Iterable[Match], redaction: Redaction | None = None
) -> None:
    """Append to matches.jsonl, a line each."""
    lines = [to_json({"schema": SCHEMA, **_fields(each)}) + b"\n" for each in matches]
    if not lines:
        return
    data = b"".join(lines)
    if redaction is not None:
        data = redaction.text(data.decode()).encode()
    path = directory.path / FILE
    with explained(path), path.open("ab", buffering=0) as file:
        file.write(data)


def _fields(match: Match) -> dict[str, object]:
    return {each.name: getattr(match, each.name) for each in fields(match)}


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter  # lazy: only the end of a run reads matches

    return TypeAdapter(Match)


def read_matches(directory: RunDirectory) -> list[Match]:
    """All matches of the run; a tail without a line break was cut off and is left out."""
    path = directory.path / FILE
    if not path.exists():
        return []
    with explained(path):
        lines = path.read_bytes().split(b"\n")[:-1]
    return [_match(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _match(line: bytes, where: str) -> Match:
    try:
        document = from_json(line)
        if document.pop("schema") != SCHEMA:
            raise ValueError
        found: Match = _adapter().validate_python(document)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RunError(
            f"{where}: is no match of {SCHEMA}; remove the file and rate the run again"
        ) from None
    return found


def in_order(matches: Sequence[Match], source: Source) -> list[Match]:
    """A source's matches in the order in which they are rated: (trial, case as written, round)."""
    cases = {each: place for place, each in enumerate(_cases(source))}
    agents = {each: place for place, each in enumerate(agents_of(source))}
    last = len(cases) + len(agents)
    return sorted(
        (each for each in matches if each.source == source.name),
        key=lambda each: (
            each.trial,
            cases.get(each.case, last),
            each.round or 0,
            agents.get(each.left, last),
            agents.get(each.right, last),
        ),
    )


def _cases(source: Source) -> Iterable[str]:
    return dict.fromkeys(each.persona for each in source.trials)
