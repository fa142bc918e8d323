"""Votes on disk: one JSON object a line, appended and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.match import Match, Winner
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.vote import CHOICES, Choice, Vote
from pytest_dialeval.records.wording import did_you_mean, plural
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.evaluation import Ballot, Evaluation
from pytest_dialeval.runs.files import explained
from pytest_dialeval.traces.disk import read_file
from pytest_dialeval.traces.file_text import without_bom
from pytest_dialeval.traces.json_bytes import from_json, to_json

FILE = "votes.jsonl"
SCHEMA = "dialeval.vote/1"
_KEYS = ("schema", *(each.name for each in fields(Vote)))


@dataclass(frozen=True, slots=True)
class Placed:
    """A vote and where it stands."""

    vote: Vote
    where: str


@dataclass(frozen=True, slots=True)
class VoteFile:
    """The votes of a file, the lines that are none, and how many are still to be cast."""

    votes: Sequence[Placed]
    wrong: Sequence[str]
    open: int = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A vote that does not count."""

    where: str
    id: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: vote {self.id!r} is left out: {self.why}"


@dataclass(frozen=True, slots=True)
class Counted:
    """The votes that count, in the order of their times, and why others do not."""

    votes: Sequence[tuple[Vote, Ballot]]
    left_out: Sequence[LeftOut]

    def matches(self) -> list[Match]:
        """As matches that people decided."""
        return [_match(vote, ballot) for vote, ballot in self.votes]


def read_votes(path: Path) -> VoteFile:
    """Every line of a file; a line that is no vote is named and spoils no other."""
    votes: list[Placed] = []
    wrong: list[str] = []
    still_open = 0
    for number, line in enumerate(without_bom(read_file(path), path).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data = _object(line)
            if data.get("choice", "") in (None, ""):
                still_open += 1
                continue
            votes.append(Placed(_vote(data), where))
        except ValueError as error:
            wrong.append(f"{where}: {error}")
    return VoteFile(votes, wrong, still_open)


def append_votes(directory: RunDirectory, votes: Iterable[Vote]) -> None:
    """Append to the run's votes.jsonl."""
    data = b"".join(vote_line(each) for each in votes)
    path = directory.path / FILE
    with explained(path), path.open("ab", buffering=0) as file:
        file.write(data)


def vote_line(vote: Vote) -> bytes:
    """A vote as it is written."""
    data = {each.name: getattr(vote, each.name) for each in fields(vote)}
    data["time"] = vote.time.isoformat()
    data["digests"] = {"left": vote.digests[0], "right": vote.digests[1]}
    return to_json({"schema": SCHEMA, **data}) + b"\n"


def open_lines(evaluation: Evaluation) -> Iterable[bytes]:
    """A line for every round that can be voted on, to be filled in."""
    for ballot in evaluation.ballots:
        left, right = ballot.pair.left, ballot.pair.right
        for number in ballot.rounds:
            yield (
                to_json(
                    {
                        "schema": SCHEMA,
                        "id": f"{left.id}.{right.agent}.{number}",
                        "evaluation": evaluation.id,
                        "task": ballot.source.task,
                        "case": left.persona,
                        "trial": left.number,
                        "round": number,
                        "left": left.agent,
                        "right": right.agent,
                        "choice": None,
                        "voter": "",
                        "time": "",
                        "digests": {"left": ballot.digests[0], "right": ballot.digests[1]},
                        "supersedes": None,
                    }
                )
                + b"\n"
            )


# ---- reading one


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        data = from_json(line)
    except ValueError as error:
        raise ValueError(f"the line is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"a vote is a JSON object, not {data!r:.60}")
    return data


def _vote(data: Mapping[str, Any]) -> Vote:
    """A line's vote; ValueError says in one sentence what is wrong with it."""
    for key in data.keys() - set(_KEYS):
        raise ValueError(f"{key!r} is no key of a vote{did_you_mean(str(key), _KEYS)}")
    schema = data.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise ValueError(f"schema {schema!r} is not known, only {SCHEMA!r}")
    digests = data.get("digests")
    if not isinstance(digests, dict):
        raise ValueError(
            "digests must be {left, right}, as `dialeval votes export --open` has them"
        )
    number = data.get("round")
    supersedes = data.get("supersedes")
    return Vote(
        id=_text(data, "id"),
        evaluation=_text(data, "evaluation"),
        task=_text(data, "task"),
        case=_text(data, "case"),
        trial=_whole(data, "trial"),
        round=None if number is None else _whole(data, "round"),
        left=_text(data, "left"),
        right=_text(data, "right"),
        choice=_choice(data.get("choice")),
        voter=_text(data, "voter"),
        time=_time(_text(data, "time")),
        digests=(_text(digests, "left"), _text(digests, "right")),
        supersedes=None if supersedes is None else _text(data, "supersedes"),
    )


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be text, not {value!r:.60}")
    return clean(value)


def _whole(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{key} must be a whole number of at least 1, not {value!r:.60}")
    return value


def _choice(value: Any) -> Choice:
    if value not in CHOICES:
        hint = did_you_mean(value, CHOICES) if isinstance(value, str) else ""
        raise ValueError(f"choice must be one of {', '.join(CHOICES)}, not {value!r:.60}{hint}")
    found: Choice = value
    return found


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):  # no time; one that in UTC has no year
        pass
    example = "2026-11-30T16:21:55+00:00"
    raise ValueError(f"time must be a time with its zone, e.g. {example}, not {text!r:.60}")


# ---- what counts


def counted(votes: Sequence[Placed], evaluation: Evaluation) -> Counted:
    """Replay votes by (time, id, voter): each voter's last word on each match of this run."""
    left_out: list[LeftOut] = []
    known: dict[tuple[str, str], Vote] = {}
    counting: dict[tuple[object, ...], tuple[Vote, Ballot]] = {}
    # Of two lines of a voter with one id the first that was written is the vote.
    for placed in sorted(_once(votes, left_out), key=_turn):
        vote = placed.vote
        ballot = evaluation.ballot(vote)
        if isinstance(ballot, str):
            left_out.append(LeftOut(placed.where, vote.id, ballot))
        elif why := _not_replaced(vote, counting.get(vote.about), known):
            left_out.append(LeftOut(placed.where, vote.id, why))
        else:
            known[vote.voter, vote.id] = vote
            counting.pop(vote.about, None)  # its place in the order is that of the last word
            counting[vote.about] = (vote, ballot)
    return Counted(list(counting.values()), left_out)


def _turn(placed: Placed) -> tuple[datetime, str, str]:
    vote = placed.vote
    return vote.time, vote.id, vote.voter


def _once(votes: Sequence[Placed], left_out: list[LeftOut]) -> list[Placed]:
    """By voter and id: people fill in copies of one file, with the ids that were exported."""
    first: dict[tuple[str, str], Placed] = {}
    for each in votes:
        earlier = first.setdefault((each.vote.voter, each.vote.id), each)
        if earlier is not each:
            why = f"its id stands at {earlier.where} already"
            if each.vote != earlier.vote:
                why += "; a vote that replaces it has an id of its own and names it in `supersedes`"
            left_out.append(LeftOut(each.where, each.vote.id, why))
    return list(first.values())


def _not_replaced(
    vote: Vote, before: tuple[Vote, Ballot] | None, known: Mapping[tuple[str, str], Vote]
) -> str:
    """Why a vote can't take the place of the one before it; empty where it can."""
    if vote.supersedes is None:
        if before is None:
            return ""
        return f"{vote.voter!r} has voted on this by {before[0].id!r}; name it in `supersedes`"
    old = known.get((vote.voter, vote.supersedes))
    if old is None:
        voters = f"no earlier vote of {vote.voter!r} that counts"
        return f"it supersedes {vote.supersedes!r}, which is {voters}"
    if old.about != vote.about:
        return f"it supersedes {vote.supersedes!r}, which is another match's"
    if before is None or before[0].id != old.id:
        return f"it supersedes {vote.supersedes!r}, which was superseded before"
    return ""


def _match(vote: Vote, ballot: Ballot) -> Match:
    winner: Winner = "tie" if vote.choice == "both_bad" else vote.choice
    return Match(
        source=ballot.source.name,
        task=vote.task,
        case=vote.case,
        trial=vote.trial,
        round=vote.round,
        left=vote.left,
        right=vote.right,
        by="human",
        winner=winner,
        same_instruction=ballot.same if vote.round is None else ballot.rounds[vote.round],
        both_bad=vote.choice == "both_bad",
    )


# ---- a run's own


def votes_of(directory: RunDirectory) -> VoteFile:
    """The votes that were imported into a run."""
    path = directory.path / FILE
    return read_votes(path) if path.exists() else VoteFile((), ())


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the lines of a file."""

    taken: int
    left_out: Sequence[str]
    open: int  # lines without a choice


def import_votes(path: Path, directory: RunDirectory, evaluation: Evaluation) -> Imported:
    """Append the votes of a file that count beside those that the run has."""
    given, stored = read_votes(path), votes_of(directory)
    if stored.wrong:
        raise RunError(f"{stored.wrong[0]}; the run's votes were changed: mend or remove the file")
    own = [each for each in given.votes if each.vote.evaluation == evaluation.id]
    known = {each.where for each in counted(stored.votes, evaluation).left_out}
    after = counted([*stored.votes, *own], evaluation)
    new = [each for each in after.left_out if each.where not in known]
    refused = {each.where for each in new}
    taken = [each.vote for each in own if each.where not in refused]
    if taken:
        append_votes(directory, taken)
    others = _of_others(path, given.votes, evaluation)
    return Imported(len(taken), [*given.wrong, *others, *map(str, new)], given.open)


def _of_others(path: Path, votes: Sequence[Placed], evaluation: Evaluation) -> list[str]:
    """A line for each other evaluation in the file."""
    many: dict[str, int] = {}
    for each in votes:
        many[each.vote.evaluation] = many.get(each.vote.evaluation, 0) + 1
    return [
        f"{path}: {plural(number, 'vote')} of evaluation {name!r} left out: "
        f"this run is {evaluation.id!r}"
        for name, number in many.items()
        if name != evaluation.id
    ]
