"""The package's public names: lazy, complete, and the same in every list."""

from __future__ import annotations

import pytest

import pytest_dialeval


def test_the_lists_agree() -> None:
    assert pytest_dialeval.__all__ == sorted(pytest_dialeval._HOMES)


@pytest.mark.parametrize("name", pytest_dialeval.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(pytest_dialeval, name).__module__.startswith("pytest_dialeval.")


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        pytest_dialeval.Nothing  # noqa: B018
