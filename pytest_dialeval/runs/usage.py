"""What a run's models took: one file a worker, added up for the summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from pytest_dialeval.models.budget import Amount, Budget, BudgetLimits, Standing, standings
from pytest_dialeval.models.usage import Tally, UsageSink
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.files import read_json
from pytest_dialeval.runs.summary import BudgetFigure, UsageFigure

SCHEMA = "dialeval.usage/1"


@dataclass(frozen=True, slots=True)
class Spent:
    """Of all workers together."""

    usage: UsageSink = field(default_factory=UsageSink)
    amount: Amount = field(default_factory=Amount)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def write_usage(
    directory: RunDirectory, worker: str, usage: UsageSink, budget: Budget, notes: Sequence[str]
) -> None:
    """`usage.<worker>.json`: by role, case and trial; none where no model was asked."""
    rows = usage.encode()
    if not rows:
        return
    spent = budget.spent
    document = {
        "schema": SCHEMA,
        "rows": rows,
        "spent": [spent.calls, spent.tokens, spent.nanos],
        "seconds": round(budget.seconds, 3),
        "notes": list(notes),
    }
    directory.write(f"usage.{worker}", document)


def read_usage(directory: RunDirectory, workers: Sequence[str] = ("*",)) -> Spent:
    """What workers wrote, by default all of them."""
    usage, amount, seconds, notes = UsageSink(), Amount(), 0.0, dict[str, None]()
    found = (directory.path.glob(f"usage.{each}.json") for each in workers)
    for path in sorted(chain.from_iterable(found)):
        document = read_json(path)
        usage.take(document["rows"])
        amount += Amount(*document["spent"])
        seconds = max(seconds, document["seconds"])
        notes |= dict.fromkeys(document["notes"])
    return Spent(usage, amount, seconds, tuple(notes))


def usage_figures(spent: Spent) -> list[UsageFigure]:
    """A figure for each role that a model played."""
    return [_figure(role, each) for role, each in spent.usage.per_role().items()]


def _figure(role: str, tally: Tally) -> UsageFigure:
    return UsageFigure(
        role=role,
        calls=tally.calls,
        failed=tally.failed,
        tries=tally.tries,
        replayed=tally.replayed,
        input_tokens=_whole(tally.input_tokens.value),
        cached_tokens=_whole(tally.cached_tokens.value),
        output_tokens=_whole(tally.output_tokens.value),
        cost_usd=tally.cost_usd.value,
        cost_unknown=tally.cost_usd.unknown,
        cost_usd_known=tally.cost_usd.known,
        seconds=tally.seconds.known,
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def budget_figures(limits: BudgetLimits, spent: Spent) -> list[BudgetFigure]:
    """Each limit with what remains of it."""
    return [_standing(each) for each in standings(limits, spent.amount, spent.seconds)]


def _standing(each: Standing) -> BudgetFigure:
    return BudgetFigure(name=each.name, limit=each.limit, spent=each.spent, left=each.left)
