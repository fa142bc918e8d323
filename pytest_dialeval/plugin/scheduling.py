"""All items of a trial on one worker, whatever xdist's mode; other tests as the mode does."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.plugin.placing import left_in
from pytest_dialeval.plugin.trial_load import TrialLoad

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

    from pytest_dialeval.runs.record import Plan


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
        trials = self._trials()
        if not trials:
            return
        mode = self._config.getoption("dist")
        if mode == "each":
            raise pytest.UsageError(
                "--dist each runs every trial on every worker and counts it several times; "
                "choose load, loadscope, loadfile, loadgroup or worksteal for dialogue items"
            )
        nodes = self._inner.nodes
        self._inner = TrialLoad(self._config, _grouping(trials, mode), trials)
        for node in nodes:
            self._inner.add_node(node)
        for node, items in self._collections.items():
            self._inner.add_node_collection(node, items)

    def _trials(self) -> dict[str, str]:
        """Node id -> trial, of dialogue items."""
        plan = self._plan()
        if plan is None:
            return {}
        if plan.refusal:
            shutil.rmtree(self._run, ignore_errors=True)  # it holds the workers' plans alone
            raise pytest.UsageError(plan.refusal)
        return {nodeid: trial for source in plan.sources for nodeid, trial in source.items.items()}

    def _plan(self) -> Plan | None:
        """What the workers say that they collected; None where they have no dialogue items."""
        path = next(iter(left_in(self._run, "plan.*.json")), None)
        if path is None:
            return None
        from pytest_dialeval.runs.record import read_plan

        return read_plan(path)


def _grouping(trials: dict[str, str], mode: str) -> Callable[[str], str | None]:
    """What a test belongs to: its file or scope where the mode says so, its trial, its group."""

    def group(nodeid: str) -> str | None:
        if mode == "loadfile":
            return f"file {nodeid.partition('::')[0]}"
        if nodeid in trials:
            return f"trial {trials[nodeid]}"
        if mode == "loadscope":
            return f"scope {nodeid.rpartition('::')[0]}"
        _, at, name = nodeid.rpartition("@")
        # xdist writes `@group` behind the id; an @ inside of brackets is a parameter's.
        marked = bool(at) and mode == "loadgroup" and "]" not in name
        return f"group {name}" if marked else None

    return group
