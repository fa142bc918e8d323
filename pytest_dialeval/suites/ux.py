"""The six judged rubrics that `scoring: {ux: ...}` adds to a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_dialeval.records.rubric import JUDGE, Rubric
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.ux import RUBRICS, rubric_of
from pytest_dialeval.records.verdict import Dimension

# Four levels: none in the middle, so that a judge must say on which side it stands.
SCORES = {"fully": 1.0, "mostly": 0.7, "partly": 0.3, "not at all": 0.0}
DID_NOT_ARISE = "did not arise"
MIN = 0.5  # between `mostly` and `partly`


@dataclass(frozen=True, slots=True)
class _Subscore:
    """`examples` in the order of SCORES; `absent`: one where the question did not arise."""

    dimension: Dimension
    criterion: str
    examples: tuple[str, str, str, str]
    absent: str = ""

    def levels(self) -> list[Mapping[str, object]]:
        """The levels as `judge:` has them; the last one has no score."""
        found: list[Mapping[str, object]] = [
            {"name": name, "score": score, "example": example}
            for (name, score), example in zip(SCORES.items(), self.examples, strict=True)
        ]
        return [*found, {"name": DID_NOT_ARISE, "example": self.absent}] if self.absent else found


_SUBSCORES: Mapping[str, _Subscore] = {
    "task_success": _Subscore(
        "completion",
        "What the user asked for at first is done when the conversation ends, as far as later "
        "messages did not change it. The work shows it (files, patches, results of tools, "
        "checks), not the agent's word.",
        (
            "The reported crash is fixed, nothing that worked is broken, and the checks at the "
            "end pass.",
            "The crash is fixed, but a smaller thing that the request names beside it is left "
            "as it was.",
            "The right place was found and changed, but it still crashes for some of the "
            "reported input.",
            "The agent explained what it would do and changed nothing, or nothing that matters.",
        ),
    ),
    "final_requirement": _Subscore(
        "completion",
        "What holds at the end is what the user wants by then: all requests, corrections and "
        "restrictions that were not taken back are met together.",
        (
            "The option has the name that round 3 asked for, and still the default that round 2 "
            "asked for.",
            "All that was asked for is there, but the new name is missing from one message.",
            "The last request is met, but meeting it undid what an earlier round had asked for.",
            "The work is still that of an earlier round: the last request is not met.",
        ),
    ),
    "correction": _Subscore(
        "robustness",
        "Where the user or a check showed that the agent was wrong, the agent took it up, found "
        "the cause, and put it right without breaking anything else.",
        (
            "Told that the fix fails for empty input, the agent reproduces that, names its "
            "mistake and mends it alone.",
            "It is put right, but only after it was pointed out twice.",
            "The agent agrees and changes something, and what was reported is still there.",
            "The agent insists that it works, or undoes what was right as well.",
        ),
        "Nothing that the agent did was corrected, rejected or shown to fail.",
    ),
    "testing": _Subscore(
        "robustness",
        "The agent tested what it changed, by runs that would have failed had the change been "
        "wrong, and reported what came out as it was.",
        (
            "It added a test of the reported case, ran it before and after the change, and says "
            "what came out.",
            "It ran the tests that were there after each change and reported them rightly, but "
            "none of them covers the reported case.",
            "It ran something once, early; later changes are called tested and were not.",
            'It says "all tests pass", and no command that runs one stands in the transcript.',
        ),
        "Nothing was made or changed that could be tested: only an explanation was asked for.",
    ),
    "context_keeping": _Subscore(
        "robustness",
        "The agent kept to what was said and done in earlier rounds: it neither forgot it, nor "
        "contradicted it, nor asked for it again.",
        (
            "Round 4 builds on the helper that round 2 made, within the limits that round 1 set.",
            "Everything is kept but a small wish, such as how files are to be named.",
            "It asks again what was answered, or writes a second time what it had made before.",
            "It denies what it did in an earlier round, or starts over as if it had not been.",
        ),
        "There is one round, or no later round leans on an earlier one.",
    ),
    "user_burden": _Subscore(
        "robustness",
        "The agent spared the user work: no question that it could have answered itself, no step "
        "left to the user, nothing that had to be said twice, no noise to read through. The less "
        "was left to the user, the higher the level.",
        (
            "Each answer says what was done and what is open in a few lines; the user decides, "
            "and does nothing else.",
            "One question too many, or answers that are longer than they need to be.",
            "The user has to run commands and send back what they print, though the agent could.",
            "The user has to find the mistake, say how to mend it, and ask again until it is done.",
        ),
    ),
}


def ux_rubrics(weights: Mapping[str, float], file: str, line: int) -> tuple[Rubric, ...]:
    """The six, each with its weight; `file` and `line` say where the suite asks for them."""
    return tuple(
        Rubric(
            id=rubric_of(name),
            dimension=each.dimension,
            spec=MatcherSpec(
                JUDGE, {"criterion": each.criterion, "levels": each.levels(), "batch": True}
            ),
            weight=weights[name],
            severity="soft",
            min=MIN,
            file=file,
            line=line,
        )
        for name, each in _SUBSCORES.items()
    )


def own_rubrics(suite: Suite) -> Sequence[Rubric]:
    """Those that somebody wrote: the six stand behind them."""
    added = suite.rubrics[-len(RUBRICS) :]
    if suite.scoring is None or suite.scoring.ux is None:
        return suite.rubrics
    return suite.rubrics[: -len(RUBRICS)] if _ids(added) == RUBRICS else suite.rubrics


def _ids(rubrics: Sequence[Rubric]) -> tuple[str, ...]:
    return tuple(each.id for each in rubrics)
