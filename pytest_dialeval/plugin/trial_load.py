"""An xdist scheduler that hands out whole units: a trial, a group, or one test.

xdist's own scope scheduler loses its way when two workers die at once, and gives a test that
killed a worker to the next one. Agents do kill workers: here what is left of their trial is lost,
and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import pytest
from xdist.report import report_collection_diff
from xdist.workermanage import parse_tx_spec_config

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# A worker starts a test only when it knows the next one, for the teardown of fixtures.
LEAST = 2


class TrialLoad:
    """See xdist.scheduler.protocol.Scheduling for who calls what."""

    def __init__(
        self,
        config: pytest.Config,
        group: Callable[[str], str | None],
        trials: Mapping[str, str],
    ) -> None:
        self.config = config
        self.numnodes = len(parse_tx_spec_config(config))
        self.collection: list[str] | None = None
        self._group = group
        self._trials = trials  # node id -> trial
        self._collections: dict[WorkerController, list[str]] = {}
        self._queue: deque[list[int]] = deque()
        self._unit: dict[int, list[int]] = {}  # index -> the unit it is part of
        self._given: dict[WorkerController, list[int]] = {}

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._given)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        if not self.collection_is_completed or self._queue:
            return False
        return all(len(each) < LEAST for each in self._given.values())

    @property
    def has_pending(self) -> bool:
        return bool(self._queue) or any(self._given.values())

    def add_node(self, node: WorkerController) -> None:
        self._given[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        if self.collection is not None and list(collection) != self.collection:
            self._report_difference(node, collection, self.collection)
            return
        self._collections[node] = list(collection)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        if item_index in self._given[node]:
            self._given[node].remove(item_index)
        self._feed(node)

    def mark_test_pending(self, item: str) -> NoReturn:
        raise NotImplementedError

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> NoReturn:
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """Give back what the node did not do, but for the test, or the trial, that it died of."""
        left = self._given.pop(node)
        if not left or self.collection is None:
            return None
        died_of = self._fate(left[0])
        rest = [each for each in left[1:] if self._fate(each) != died_of]
        self._queue.extendleft(reversed(list(self._units(rest))))
        for each in self.nodes:
            self._feed(each)
        return self.collection[left[0]]

    def _fate(self, index: int) -> str:
        """What is lost together: the items of a trial."""
        assert self.collection is not None
        nodeid = self.collection[index]
        return self._trials.get(nodeid, nodeid)

    def _units(self, indices: Sequence[int]) -> Iterator[list[int]]:
        """The rest of each unit, in order."""
        rest: dict[int, list[int]] = {}
        for each in indices:
            rest.setdefault(id(self._unit[each]), []).append(each)
        yield from rest.values()

    def schedule(self) -> None:
        if self.collection is None and not self._begin():
            return
        for node in self.nodes:
            self._feed(node)

    def _begin(self) -> bool:
        """Cut the collection into units; False where the workers collected different tests."""
        (first, collection), *others = self._collections.items()
        for node, other in others:
            if other != collection:
                self._report_difference(node, other, collection, first)
                return False
        self.collection = collection
        units: dict[str, list[int]] = {}
        for index, nodeid in enumerate(collection):
            name = self._group(nodeid)
            unit = units.setdefault(f"test {index}" if name is None else name, [])
            unit.append(index)
            self._unit[index] = unit
        self._queue.extend(list(each) for each in units.values())
        return True

    def _feed(self, node: WorkerController) -> None:
        """Keep the node busy; send it home where nothing is left to hand out."""
        # A replacement of a lost worker may not have collected yet.
        if node not in self._collections or node.shutting_down:
            return
        while self._queue and len(self._given[node]) < LEAST:
            unit = self._queue.popleft()
            self._given[node].extend(unit)
            node.send_runtest_some(unit)
        if not self._queue:
            node.shutdown()

    def _report_difference(
        self,
        node: WorkerController,
        theirs: Sequence[str],
        ours: Sequence[str],
        other: WorkerController | None = None,
    ) -> None:
        name = other.gateway.id if other is not None else "the others"
        text = report_collection_diff(list(ours), list(theirs), name, node.gateway.id)
        if text:
            report = pytest.CollectReport(
                nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[]
            )
            self.config.hook.pytest_collectreport(report=report)
