"""A guest in others' sessions: silent without dialogues, strict, and beside other plugins."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .conftest import Shop, persona, rubric

HEAVY = (
    "pydantic",
    "yaml",
    "aiohttp",
    "openai",
    "numpy",
    "scipy",
    "jinja2",
    "click",
    "tabulate",
    "orjson",
    "asyncio",
)


def python(code: str, shop: Shop) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=shop.path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_plugin_loads_next_to_nothing(shop: Shop) -> None:
    before = python("import pytest, sys; print(*sorted(sys.modules))", shop).split()
    after = python("import pytest_dialeval.plugin, sys; print(*sorted(sys.modules))", shop).split()

    new = set(after) - set(before)
    ours = {each for each in new if each.split(".")[0] == "pytest_dialeval"}
    assert new - ours <= set(sys.stdlib_module_names)
    assert not {each.split(".")[0] for each in after} & set(HEAVY)
    assert ours == {
        "pytest_dialeval",
        "pytest_dialeval.plugin",
        "pytest_dialeval.plugin.hookspecs",
        "pytest_dialeval.plugin.options",
    }


def test_a_session_without_dialogues_loads_no_more(shop: Shop) -> None:
    shop.write("test_other.py", "def test_other(tmp_path):\n    pass\n")
    code = (
        "import pytest, sys\n"
        "status = pytest.main(['-p', 'dialeval', '-q', '-W', 'error'])\n"
        f"print(int(status), *sorted({HEAVY!r} & sys.modules.keys()))"
    ).replace(f"{HEAVY!r}", f"set({HEAVY!r})")

    assert python(code, shop).splitlines()[-1] == "0"


def test_intervals_of_an_ordinary_run_load_no_numbers_library(shop: Shop) -> None:
    shop.suite(personas=[persona(f"p{number}") for number in range(10)])
    code = (
        "import pytest, sys\n"
        "status = pytest.main(['-p', 'dialeval', '-q', '-W', 'error'])\n"
        "print(int(status), *sorted({'numpy', 'scipy'} & sys.modules.keys()))"
    )

    assert python(code, shop).splitlines()[-1] == "0"
    assert shop.agent_figures()["pass_hat_k"]["1"]["low"] == pytest.approx(0.722, abs=5e-4)


def test_without_dialogues_nothing_is_said_or_written(shop: Shop) -> None:
    shop.write("test_other.py", "def test_other():\n    pass\n")

    result = shop.run("-p", "no:cacheprovider", "-v")

    result.assert_outcomes(passed=1)
    head, _, tail = result.stdout.str().partition("collected 1 item")
    assert "dialeval" not in head.replace("plugins: dialeval-", "")
    assert "dial" not in tail
    names = {each.name for each in shop.path.iterdir()} - {"__pycache__"}
    assert names == {"clerk.yaml", "test_other.py"}


def test_a_suite_whose_items_are_all_deselected_writes_nothing(shop: Shop) -> None:
    shop.suite()
    shop.write("test_other.py", "def test_other():\n    pass\n")

    result = shop.run("-k", "test_other")

    result.assert_outcomes(passed=1, deselected=1)
    assert not (shop.path / ".dialeval").exists()
    result.stdout.no_fnmatch_line("*dialogues*")


def test_no_file_of_another_kind_is_taken(shop: Shop) -> None:
    for name in ("suite.yaml", "dialeval.yaml", "x.yml", "x.dialeval.json"):
        shop.write(name, "{")

    assert shop.run().ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", "no:cacheprovider"),
        ("-p", "no:terminal"),
        ("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:junitxml"),
        ("-p", "no:logging"),
        ("-p", "no:warnings"),
        ("-p", "no:stepwise", "-p", "no:doctest", "-p", "no:skipping"),
        ("-s",),
        ("--capture=sys",),
        ("--import-mode=importlib",),
        ("--assert=plain",),
    ],
    ids=" ".join,
)
def test_under_other_settings_of_pytest(shop: Shop, arguments: tuple[str, ...]) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("soft", "tractor", severity="soft")])
    shop.write(
        "test_body.py",
        "from pytest_dialeval import dialogue_case\n\n"
        '@dialogue_case("shop.dialeval.yaml", rubrics=["greet"])\n'
        "def test_body(dialogue):\n    dialogue.expect.keyword('lamp')\n",
    )

    result = shop.run(*arguments)

    assert result.ret == 0
    assert shop.summary["verdicts"]["passed"] == 3
    assert shop.summary["verdicts"]["soft_failed"] == 1


def test_strict_markers_of_an_ini(shop: Shop) -> None:
    shop.pytester.makeini(
        "[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n"
    )
    shop.suite()

    shop.run().assert_outcomes(passed=1)


def test_beside_every_other_plugin_that_is_installed(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("lamp", "lamp")], trials=2)
    shop.write(
        "test_body.py",
        "from pytest_dialeval import dialogue_case\n\n"
        '@dialogue_case("shop.dialeval.yaml", rubrics=["greet"])\n'
        "async def test_body(dialogue):\n    dialogue.expect.keyword('lamp')\n",
    )
    shop.pytester.makeini(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        "timeout = 30\nfilterwarnings = error\n"
    )
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    }

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--reruns=1"],
        cwd=shop.path,
        capture_output=True,
        text=True,
        env=environment,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout
    assert shop.summary["verdicts"]["passed"] == 8


def test_timeouts_of_items_reach_one_that_waits(shop: Shop) -> None:
    shop.write(
        "slow.py", "import asyncio\n\nasync def slow(message):\n    await asyncio.sleep(60)\n"
    )
    shop.suite(agents={"slow": {"use": "python:slow.py:slow"}})

    result = shop.run("-p", "timeout", "--timeout=0.5", "--timeout-method=signal")

    assert result.ret == 10  # it may have waited for its turn: that says nothing about the agent
    result.stdout.fnmatch_lines(["*Timeout*0.5*"])


def test_a_second_session_in_one_process_starts_anew(shop: Shop) -> None:
    shop.suite(personas=[persona("buyer")])
    shop.run().assert_outcomes(passed=1)
    shop.suite(personas=[persona("thief")], trials=2)

    shop.run().assert_outcomes(passed=2)

    assert len(shop.runs) == 2
    assert [each["id"] for each in shop.agent_figures()["personas"]] == ["thief"]


def test_public_names_are_resolved_when_they_are_used(shop: Shop) -> None:
    code = (
        "import sys, pytest_dialeval\n"
        "assert 'pytest' not in sys.modules\n"
        "for name in pytest_dialeval.__all__:\n    getattr(pytest_dialeval, name)\n"
        "print('pytest' in sys.modules)"
    )

    assert python(code, shop) == "False"  # a module of agents needs no pytest


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("wanted", [True, False])
def test_the_garbage_collector_is_left_as_it_was(shop: Shop, broken: bool, wanted: bool) -> None:
    shop.write(
        "conftest.py",
        "import gc\n"
        f"gc.enable() if {wanted} else gc.disable()\n"
        "def pytest_itemcollected(item):\n"
        "    print('while collecting', gc.isenabled())\n"
        "def pytest_unconfigure():\n"
        "    print('at the end', gc.isenabled())\n",
    )
    shop.suite()
    if broken:
        shop.write("bad.dialeval.yaml", "dialeval: 2\n")

    code = "import pytest; pytest.main(['-s', '-q', '-p', 'pytest_dialeval.plugin'])"
    said = python(code, shop)

    assert "while collecting False" in said  # a large suite's items would be walked again and again
    assert f"at the end {wanted}" in said
