"""The pytest plugin: these hooks run in every session, so they import next to nothing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.plugin import hookspecs
from pytest_dialeval.plugin.options import Settings, add_options

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine

SUFFIX = ".dialeval.yaml"
MISSPELT = ".dialeval.yml"
SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
COLLECTING: pytest.StashKey[bool] = pytest.StashKey()
FROZEN: pytest.StashKey[bool] = pytest.StashKey()  # what was collected is kept from the collector
MARKER = (
    "dialeval(dimension=, severity=, method=, persona=, agent=), dialeval(tag=): a dialogue rubric"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.add_cleanup(lambda: _thaw(config))  # so early, as the last cleanup is the first to come
    settings = config.stash[SETTINGS] = Settings(config)  # mistakes end it before anything runs
    if distributes(config):
        from pytest_dialeval.plugin.distributed import ControllerHooks

        config.pluginmanager.register(ControllerHooks(config, settings), "dialeval-controller")


def _thaw(config: pytest.Config) -> None:
    """Not before pytest has walked all objects twice for what a test may have left behind."""
    if config.stash.get(FROZEN, False):
        gc.unfreeze()


def distributes(config: pytest.Config) -> bool:
    """Whether this process is xdist's controller, which hands all items to workers."""
    return (
        any(map(config.pluginmanager.hasplugin, ("xdist", "xdist.plugin")))  # either by -p
        and config.getoption("dist", "no") != "no"
        and not config.getoption("collectonly", False)
        and not hasattr(config, "workerinput")
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """A large suite may pause the garbage collector until all items are there."""
    enabled = gc.isenabled()
    session.config.stash[COLLECTING] = enabled
    try:
        return (yield)
    finally:
        session.config.stash[COLLECTING] = False
        if enabled:
            gc.enable()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith((SUFFIX, MISSPELT)):
        return None
    engine = engine_of(parent.config)
    from pytest_dialeval.plugin.collection import SuiteFile

    return SuiteFile.make(parent, file_path, engine)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> None:
    """Refuse what pytest would collect without ever asking for its cells."""
    unittest = sys.modules.get("unittest")
    if unittest is None or not isinstance(obj, type) or not issubclass(obj, unittest.TestCase):
        return
    for each in obj.__mro__:
        for name, method in vars(each).items():
            if name.startswith("test") and "dialogue_case" in getattr(method, "__dict__", ()):
                raise pytest.Collector.CollectError(
                    f"{collector.nodeid}::{obj.__name__}::{name}: @dialogue_case cannot stand in "
                    "a unittest.TestCase, whose methods are given no arguments: "
                    "write a function, or a class without that base"
                )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    case = getattr(metafunc.function, "dialogue_case", None)
    if case is None:
        return
    engine = engine_of(metafunc.config)
    from pytest_dialeval.plugin.decorated import parametrize

    parametrize(engine, metafunc, case)


# Not called `dialogue`: the module of that name takes its place here once it is imported.
@pytest.fixture(name="dialogue")
def _dialogue(request: pytest.FixtureRequest) -> Any:
    """The finished conversation of a test with @dialogue_case."""
    from pytest_dialeval.plugin.decorated import obtain

    return obtain(request)


def engine_of(config: pytest.Config) -> Engine:
    """The session's engine; made, with its hooks, when it is first needed."""
    from pytest_dialeval.plugin.engine import ENGINE, Engine
    from pytest_dialeval.plugin.hooks import ClosingHooks, ItemHooks

    engine = config.stash.get(ENGINE, None)
    if engine is None:
        engine = config.stash[ENGINE] = Engine(config, config.stash[SETTINGS])
        config.pluginmanager.register(ItemHooks(engine), "dialeval-items")
        if engine.worker == "main":
            config.pluginmanager.register(ClosingHooks(engine), "dialeval-closing")
    return engine


def pytest_dialeval_matchers(config: pytest.Config) -> Mapping[str, Any]:
    from pytest_dialeval.matching.catalogue import builtin_matchers

    return builtin_matchers()
