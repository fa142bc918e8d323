"""A stored run rated anew, when people have voted."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pytest_dialeval.errors import RunError
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.evaluation import evaluation_of
from pytest_dialeval.runs.figures import score_source
from pytest_dialeval.runs.files import read_json
from pytest_dialeval.runs.matches import read_matches
from pytest_dialeval.runs.ratings import rate
from pytest_dialeval.runs.summary import Ratings, Summary
from pytest_dialeval.runs.votes import counted, votes_of


def rate_again(directory: RunDirectory, rootdir: Path) -> Ratings:
    """The ratings from plan, ledgers, matches and votes; summary.json gets them too."""
    path = directory.path / "summary.json"
    if not path.exists():
        raise RunError(f"{directory.path}: has no summary.json; the run is not over, or was killed")
    try:
        summary = Summary.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise RunError(f"{path}: is no summary of this version: {where}: {first['msg']}") from None
    evaluation, stored = evaluation_of(directory, rootdir), votes_of(directory)
    people = counted(stored.votes, evaluation)
    scored = [(each, score_source(each, evaluation.facts)) for each in evaluation.sources]
    notes = [*stored.wrong, *map(str, people.left_out)]
    ratings = rate(scored, read_matches(directory), people.matches(), notes)
    if ratings is None:
        raise RunError(
            f"run {directory.run_id} has fewer than two agents: there is nothing to rate"
        )
    renewed = summary.model_copy(update={"ratings": ratings})
    directory.write("summary", renewed.model_dump(mode="json", by_alias=True))
    return ratings
