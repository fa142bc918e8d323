"""A run on disk, and what writes into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.grader import Grader
from pytest_dialeval.runs.ledger import LedgerWriter
from tests.runs.trials import grader_of


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "runs" / "20260102-030405-abcdef")
    made.create()
    return made


@pytest.fixture
def ledger(directory: RunDirectory) -> Iterator[LedgerWriter]:
    writer = LedgerWriter(directory.path / "ledger.main.jsonl")
    yield writer
    writer.close()


@pytest.fixture
def grader(directory: RunDirectory, ledger: LedgerWriter) -> Grader:
    return grader_of(directory, ledger)
