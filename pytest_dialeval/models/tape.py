"""What one worker records, while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pytest_dialeval.errors import RunError
from pytest_dialeval.models.cassette import Entry, Trial
from pytest_dialeval.models.cassette_lines import HEADER, Line, entry_lines, trial_line
from pytest_dialeval.traces.disk import disk_fault
from pytest_dialeval.traces.json_bytes import to_json


class Tape:
    """What one worker records, appended and flushed call by call; made with its first line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: set[str] = set()
        self._file: int | None = None

    def record(self, entry: Entry) -> None:
        """A reply that the run consumed."""
        self._append(entry_lines(entry, self._known))

    def used(self, key: str) -> None:
        """An entry of the cassette that was replayed."""
        self._append([{"used": key}])

    def restart(self, trial: Trial) -> None:
        """From here on the trial is asked anew; what the cassette had of it is void."""
        self._append([trial_line("restart", trial)])

    def again(self, trial: Trial) -> None:
        """The trial ended unmeasured."""
        self._append([trial_line("again", trial)])

    def close(self) -> None:
        """Nothing more comes."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, lines: Iterable[Line]) -> None:
        data = b"".join(to_json(each) + b"\n" for each in lines)
        try:
            if self._file is None:
                self._file = self._create()
            _write_whole(self._file, data)
        except FileExistsError:
            raise RunError(f"{self.path}: another run records here; move the file away") from None
        except OSError as error:
            self._known.clear()  # what was to be written is not in the file
            raise disk_fault(error, self.path) from None

    def _create(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        file = os.open(self.path, flags, 0o666)
        _write_whole(file, to_json(HEADER) + b"\n")
        return file


def _write_whole(file: int, data: bytes) -> None:
    size, rest = os.fstat(file).st_size, memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except BaseException:
        os.ftruncate(file, size)  # half a line would spoil the next one too
        raise
