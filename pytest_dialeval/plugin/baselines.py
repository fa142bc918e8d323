"""What a run is held against: the file that its suite or an option names, read once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.plugin.placing import runs_folder

if TYPE_CHECKING:
    from pytest_dialeval.plugin.options import Settings
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.run import Source
    from pytest_dialeval.records.suite import Gates
    from pytest_dialeval.runs.baseline import Baseline
    from pytest_dialeval.runs.baseline_gate import HeldAgainst


class Baselines:
    """Baselines of one session, by where they stand."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._read: dict[tuple[Path, str], Baseline | str] = {}

    def of(self, source: Source) -> HeldAgainst | None:
        """What a source of the plan is held against; None: nothing."""
        return self._against(source.gates, self._config.rootpath / source.suite, source.name)

    def _against(self, gates: Gates, suite: Path, name: str) -> HeldAgainst | None:
        """The same, of a suite file; an option's path stands above the suite's."""
        given = gates.baseline
        setting = self._settings.get("baseline", suite=given.path if given else None)
        if setting.value is None:
            return None
        from pytest_dialeval.runs.baseline_gate import HeldAgainst

        by_suite = setting.source == "suite"
        folder = suite.parent if by_suite else self._folder(setting.source)
        return HeldAgainst(
            self._open(folder, setting.value),
            name if by_suite else setting.source,
            option=not by_suite,
            max_drop=given.max_drop if given else None,
        )

    def refusal(self, sources: Sequence[LoadedSource]) -> str | None:
        """Why a baseline can't be read; said before anybody talks."""
        for each in sources:
            held = self._against(each.gates, Path(each.suite.path), each.name)
            if held is not None and isinstance(held.baseline, str):
                return f"baseline of {held.source}: {held.baseline}"
        return None

    def _folder(self, source: str) -> Path:
        """Options and variables are written where pytest is invoked, the others in rootdir."""
        if source.startswith(("--", "DIALEVAL_")):
            return self._config.invocation_params.dir
        return self._config.rootpath

    def _open(self, folder: Path, written: str) -> Baseline | str:
        from pytest_dialeval.runs.opening import open_results

        key = (folder, written)
        if key not in self._read:
            runs = runs_folder(self._config, self._settings)
            try:
                self._read[key] = open_results(written, folder, runs)
            except RunError as error:
                self._read[key] = str(error)
        return self._read[key]
