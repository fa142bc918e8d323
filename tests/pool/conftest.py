from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pytest_dialeval.pool import Pool
from tests.pool.works import Notes, a_pool


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def pool() -> Iterator[Pool]:
    with a_pool() as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_keeps_the_process_alive() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [each for each in threading.enumerate() if each not in before and not each.daemon]
    assert not left
