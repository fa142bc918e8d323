"""Which trials may be held now, ahead of the item that asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest

from pytest_dialeval.plugin.collection import CELL, Cell

DECLARED = "declared"  # agents that need no fixture: known from the start


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a trial stands in the order of the final items."""

    item: int  # place of its first item
    trial: int  # place among the trials
    cell: Cell


def agent_key(cell: Cell) -> str:
    """Trials with one key become possible together: a fixture's, once it has a value."""
    if cell.source.uses_fixture(cell.trial.agent):
        return f"fixture {cell.source.anchor}"
    return DECLARED


class Ahead:
    """Hands out each trial once, in order, as far as the limits let it look."""

    def __init__(
        self,
        items: Iterable[pytest.Item],
        *,
        wanted: Callable[[Cell], bool],
        within_items: int | None,
        within_trials: int | None,
    ) -> None:
        self._within_items, self._within_trials = within_items, within_trials
        self._places: dict[str, _Place] = {}
        self._waiting: dict[str, deque[_Place]] = {}
        for place in _places(items):
            self._places[place.cell.trial.id] = place
            if wanted(place.cell):
                self._waiting.setdefault(agent_key(place.cell), deque()).append(place)

    def due(self, cell: Cell, key: str) -> Iterator[Cell]:
        """Trials with that key that may be held while the item of `cell` waits."""
        here, waiting = self._places.get(cell.trial.id), self._waiting.get(key)
        if here is None or not waiting or self._within_items == 0:
            return
        while waiting and self._is_near(here, waiting[0]):
            yield waiting.popleft().cell

    def _is_near(self, here: _Place, there: _Place) -> bool:
        if self._within_items is not None and there.item > here.item + self._within_items:
            return False
        return self._within_trials is None or there.trial <= here.trial + self._within_trials


def _places(items: Iterable[pytest.Item]) -> Iterator[_Place]:
    """The trials of the final items, each once, in order."""
    seen: set[str] = set()
    for number, item in enumerate(items):
        cell = item.stash.get(CELL, None)
        if cell is None or item.get_closest_marker("skip") is not None:
            continue
        if cell.trial.id not in seen:
            yield _Place(number, len(seen), cell)
            seen.add(cell.trial.id)
