"""Green beside other plugins and under pytest's strict settings: the same counts everywhere."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from .conftest import Shop, persona, rubric

NEIGHBOURS = {
    "asyncio": (
        "pytest_asyncio.plugin",
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
    ),
    "randomly": ("pytest_randomly",),
    "timeout": ("pytest_timeout", "--timeout=60"),
    "rerunfailures": ("pytest_rerunfailures", "--reruns=1"),
    "recording": ("pytest_recording.plugin", "--record-mode=none", "--block-network"),
    "cov": ("pytest_cov.plugin", "--cov=.", "--cov-report="),
    "xdist": ("xdist.plugin", "-n", "0"),
    "anyio": ("anyio.pytest_plugin",),
}
SETTINGS = {
    "strict": ("-W", "error", "--strict-markers", "--strict-config"),
    "no cache": ("no:cacheprovider",),
    "no logging": ("no:logging",),
    "no junit": ("no:junitxml",),
    "plain asserts": ("no:faulthandler", "--assert=plain"),
}


def mixed(shop: Shop) -> None:
    """One item of each outcome, a decorated test and a stranger."""
    shop.suite(
        personas=[persona("one")],
        rubrics=[
            rubric("greet"),
            rubric("soft", "never said", severity="soft"),
            rubric("hard", "never said"),
            rubric("unasked", trigger={"user_keyword": ["never said"]}),
            rubric("judged", keyword=None, judge="it was nice"),
        ],
    )
    shop.write(
        "test_it.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml", rubrics=["greet"])
        def test_stock(dialogue):
            dialogue.expect.keyword(any=["stock"])

        def test_stranger():
            pass
        """,
    )


def counts(result: pytest.RunResult) -> dict[str, int]:
    found = result.parseoutcomes()
    found.pop("rerun", None)
    found.pop("warnings", None)
    return found


# pytester reads "soft-failed" as soft.
EXPECTED = {"passed": 4, "failed": 1, "skipped": 1, "soft": 1, "errors": 1}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_beside(shop: Shop, name: str) -> None:
    plugin, *options = NEIGHBOURS[name]
    if find_spec(plugin.partition(".")[0]) is None:
        pytest.skip(f"{plugin} is not installed")
    mixed(shop)
    result = shop.pytester.runpytest_subprocess(
        "-W", "error", "-p", "dialeval", "-p", plugin, *options
    )
    assert counts(result) == EXPECTED
    assert result.ret == 1
    assert shop.summary["verdicts"]["unmeasured"] == 1


@pytest.mark.parametrize("name", SETTINGS)
def test_under(shop: Shop, name: str) -> None:
    first, *options = SETTINGS[name]
    mixed(shop)
    given = (first, *options) if first.startswith("-") else ("-p", first, *options)
    result = shop.pytester.runpytest_subprocess("-p", "dialeval", *given)
    assert counts(result) == EXPECTED
    assert result.ret == 1


def test_without_a_terminal(shop: Shop) -> None:
    mixed(shop)
    result = shop.pytester.runpytest_subprocess("-p", "dialeval", "-p", "no:terminal")
    assert result.ret == 1
    assert shop.summary["verdicts"] == {
        "passed": 3,
        "failed": 1,
        "soft_failed": 1,
        "not_applicable": 1,
        "unmeasured": 1,
        "not_run": 0,
    }
