"""No test can stop it."""

from __future__ import annotations

import sys
import time

import pytest

from pytest_dialeval.records.monotonic import monotonic


def test_it_goes_on_where_every_name_of_the_clock_was_replaced(monkeypatch: pytest.MonkeyPatch):
    real = time.monotonic
    for module in list(sys.modules.values()):
        for name in [key for key, value in list(vars(module).items()) if value is real]:
            monkeypatch.setattr(module, name, lambda: 5.0)
    assert time.monotonic() == 5.0
    from pytest_dialeval.records import monotonic as module

    before = module.monotonic()
    assert module.monotonic is monotonic
    assert before != 5.0
    assert before <= module.monotonic() <= before + 60
