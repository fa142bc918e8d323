from __future__ import annotations

import os
import threading

import pytest

from pytest_dialeval.models.http import proxy_of
from pytest_dialeval.programs.environ import RUNNING, changed_meanwhile, environment, undisturbed


@pytest.mark.parametrize("name", [RUNNING, "SOMETHING_OF_A_TEST"])
def test_a_copy_is_whole_while_a_name_comes_and_goes(name: str):
    stop = threading.Event()

    def pytest_like() -> None:
        while not stop.is_set():
            os.environ[name] = "test_x.py::test_x (call)"
            os.environ.pop(name)

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
    wanted = {key: each for key, each in os.environ.items() if key != RUNNING}
    for each in found:
        each.pop(name, None)
        assert each == wanted
    assert len(proxies) == 1


def test_it_reads_once_more_where_a_name_was_gone_but_not_for_ever():
    tries = iter([KeyError(RUNNING), KeyError("SOMETHING_OF_A_TEST"), None])

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
