"""All items of a trial on one worker, whatever xdist's mode; other tests as the mode does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

    from pytest_dialeval.runs.record import Plan

SUFFIX = ".dialeval.yaml::"
# In these a trial stays whole by itself: its items share a file, or the id up to the last `::`.
WHOLE = ("loadfile", "loadscope")


class TrialScheduling:
    """The mode's own scheduler, exchanged at its start where there are trials to keep together."""

    def __init__(self, config: pytest.Config, log: Any, stock: Any, run: Path) -> None:
        self._config, self._log, self._run = config, log, run
        self._inner = stock
        self._started = False
        self._collections: dict[WorkerController, Sequence[str]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        self._collections[node] = collection
        self._inner.add_node_collection(node, collection)

    def schedule(self) -> None:
        if not self._started:
            self._started = True
            self._exchange()
        self._inner.schedule()

    def _exchange(self) -> None:
        collection = next(iter(self._collections.values()), ())
        plan = self._plan()
        if plan is not None and plan.refusal:
            raise pytest.UsageError(plan.refusal)
        trials = {each: each.rpartition("::")[0] for each in collection if SUFFIX in each}
        for source in plan.sources if plan is not None else ():
            trials.update(source.items)
        if not trials:
            return
        mode = self._config.getoption("dist")
        if mode == "each":
            raise pytest.UsageError(
                "--dist each runs every trial on every worker and counts it several times; "
                "choose load, loadscope, loadfile, loadgroup or worksteal for dialogue items"
            )
        if mode not in WHOLE:
            nodes = self._inner.nodes
            self._inner = GroupScheduling(self._config, self._log, trials)
            for node in nodes:
                self._inner.add_node(node)
            for node, items in self._collections.items():
                self._inner.add_node_collection(node, items)

    def _plan(self) -> Plan | None:
        """What the workers say that they collected; None where they have no dialogue items."""
        path = next(iter(sorted(self._run.glob("plan.*.json"))), None)
        if path is None:
            return None
        from pytest_dialeval.runs.record import read_plan

        return read_plan(path)


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc,unused-ignore]
    """A trial is one unit of work, a marked xdist group one, and any other test one."""

    def __init__(self, config: pytest.Config, log: Any, trials: Mapping[str, str]) -> None:
        super().__init__(config, log)
        self._trials = trials

    def _reschedule(self, node: WorkerController) -> None:
        # Two workers lost at once: a replacement may be asked for before it has collected.
        if node in self.registered_collections:
            super()._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        if nodeid in self._trials:
            return self._trials[nodeid]
        _, at, group = nodeid.rpartition("@")
        if at and self.config.getoption("dist") == "loadgroup" and "]" not in group:
            return group
        return nodeid
