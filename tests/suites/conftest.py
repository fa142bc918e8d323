"""Suites written in tests, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.matcher import Matcher, matcher_from_function
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.suites.load import load_suite


def share_of_thanks(view: View) -> float:
    """A ratio: the share of agent turns that say thanks."""
    turns = view.searched()
    return sum("thanks" in each.text for each in turns) / len(turns) if turns else 0.0


@pytest.fixture(scope="session")
def matchers() -> Mapping[str, Matcher]:
    return {**builtin_matchers(), "share": matcher_from_function("share", share_of_thanks)}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file below the test's root folder."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def load(
    tmp_path: Path, write: Callable[[str, str], Path], matchers: Mapping[str, Matcher]
) -> Callable[[str], Suite]:
    """The suite that a text holds."""

    def load(text: str) -> Suite:
        path = write("s.dialeval.yaml", text)
        return load_suite(path, rootdir=tmp_path, matchers=matchers)

    return load


@pytest.fixture
def problems(load: Callable[[str], Suite]) -> Callable[[str], list[str]]:
    """Everything that is wrong with a text, as users read it."""

    def problems(text: str) -> list[str]:
        with pytest.raises(SuiteError) as caught:
            load(text)
        return str(caught.value).splitlines()

    return problems


@pytest.fixture
def notes(load: Callable[[str], Suite]) -> Callable[[str], list[str]]:
    """The notes on a text that is right."""
    return lambda text: [str(each) for each in load(text).notes]
