from __future__ import annotations

import os
import threading

import pytest

from pytest_dialeval.models.http import proxy_of
from pytest_dialeval.programs.environ import RUNNING, changed_meanwhile, environment, undisturbed


def test_a_copy_is_whole_while_the_name_of_the_running_test_comes_and_goes():
    stop = threading.Event()

    def pytest_like() -> None:
        while not stop.is_set():
            os.environ[RUNNING] = "test_x.py::test_x (call)"
            os.environ.pop(RUNNING)

    mine = os.environ.pop(RUNNING)
    runner = threading.Thread(target=pytest_like)
    runner.start()
    try:
        found = [environment() for _ in range(2_000)]
        proxies = {proxy_of("https://example.invalid/v1") for _ in range(500)}
    finally:
        stop.set()
        runner.join()
        os.environ[RUNNING] = mine
    wanted = {name: each for name, each in os.environ.items() if name != RUNNING}
    for each in found:
        each.pop(RUNNING, None)
        assert each == wanted
    assert len(proxies) == 1


def test_it_reads_once_more_only_where_pytest_came_between():
    tries = iter([KeyError(RUNNING), KeyError(RUNNING), None])

    def read() -> str:
        if error := next(tries):
            raise error
        return "read"

    assert undisturbed(read) == "read"
    with pytest.raises(KeyError, match="HOME"):
        undisturbed(lambda: {}["HOME"])


@pytest.mark.parametrize(
    ("error", "changed"),
    [(KeyError(RUNNING), True), (KeyError("x"), False), (ValueError(RUNNING), False)],
)
def test_only_the_name_of_the_running_test_comes_and_goes(error: Exception, changed: bool):
    assert changed_meanwhile(error) == changed
