"""Settings: option > environment > suite > project file > default, each with its source."""

from __future__ import annotations

import pytest

from .conftest import Shop, persona, rubric

SLOW = "import asyncio\n\nasync def slow(message):\n    await asyncio.sleep(60)\n"
TOML = "[tool.pytest.ini_options]\n\n[tool.dialeval]\n"


def trials(shop: Shop, *arguments: str) -> int:
    return len(shop.ids(*arguments))


def test_the_default(shop: Shop) -> None:
    shop.suite()

    assert trials(shop) == 1


def test_project_file_below_suite_below_environment_below_option(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.suite()
    shop.write("pyproject.toml", f"{TOML}trials = 2\n")
    assert trials(shop) == 2
    shop.suite(trials=3)
    assert trials(shop) == 3
    monkeypatch.setenv("DIALEVAL_TRIALS", "4")
    assert trials(shop) == 4
    assert trials(shop, "--dialeval-trials", "5") == 5


def test_the_ini_file_is_a_project_file(shop: Shop) -> None:
    shop.suite()
    shop.pytester.makeini("[pytest]\ndialeval_trials = 3\n")

    assert trials(shop) == 3


def test_the_ini_goes_before_the_table(shop: Shop) -> None:
    shop.suite()
    shop.write(
        "pyproject.toml",
        '[tool.pytest.ini_options]\ndialeval_trials = "6"\n\n[tool.dialeval]\ntrials = 2\n',
    )

    assert trials(shop) == 6


def test_limits_of_a_project_file_hold_where_the_suite_has_none(shop: Shop) -> None:
    shop.write(
        "slow.py", "import asyncio\n\nasync def slow(message):\n    await asyncio.sleep(9)\n"
    )
    agents = {"slow": {"use": "python:slow.py:slow"}}
    shop.write("pyproject.toml", f"{TOML}turn_timeout = 0.05\n")

    shop.suite(agents=agents)
    shop.run().assert_outcomes(failed=1)

    assert shop.summary["outcomes"]["agent_error"] == 1


def test_the_seed_of_a_project_file_holds_where_the_suite_has_none(shop: Shop) -> None:
    shop.write("pyproject.toml", f'{TOML}seed = "mine"\n')
    shop.suite()
    shop.run()
    assert shop.traces()[0][0]["seed"] == "mine"

    shop.suite(seed="its own")
    shop.run()
    assert shop.traces()[0][0]["seed"] == "its own"


def test_o_overrides_the_ini(shop: Shop) -> None:
    shop.suite()
    shop.pytester.makeini("[pytest]\ndialeval_trials = 3\n")

    assert trials(shop, "-o", "dialeval_trials=2") == 2


def test_addopts_are_options(shop: Shop) -> None:
    shop.suite(trials=2)
    shop.pytester.makeini("[pytest]\naddopts = --dialeval-trials=7\n")

    assert trials(shop) == 7


def test_an_empty_environment_variable_says_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.suite(trials=2)
    monkeypatch.setenv("DIALEVAL_TRIALS", "")

    assert trials(shop) == 2


@pytest.mark.parametrize(
    ("set_up", "source"),
    [
        ("option", "--dialeval-label"),
        ("environment", "DIALEVAL_LABEL"),
        ("ini", "dialeval_label in pytest.ini"),
        ("table", "[tool.dialeval] label"),
    ],
)
def test_the_summary_names_the_source(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, set_up: str, source: str
) -> None:
    shop.suite()
    arguments = ()
    match set_up:
        case "option":
            arguments = ("--dialeval-label", "nightly")
        case "environment":
            monkeypatch.setenv("DIALEVAL_LABEL", "nightly")
        case "ini":
            shop.write("pytest.ini", "[pytest]\ndialeval_label = nightly\n")
        case "table":
            shop.write("pyproject.toml", f'{TOML}label = "nightly"\n')

    result = shop.run(*arguments)

    assert f"settings: label = nightly ({source})" in result.outlines
    assert shop.summary["label"] == "nightly"
    assert shop.summary["settings"] == {"label": {"value": "nightly", "source": source}}
    assert shop.record("manifest")["label"] == "nightly"
    assert shop.record("manifest")["settings"]["label"]["source"] == source


def test_nothing_is_said_of_defaults(shop: Shop) -> None:
    shop.suite()

    shop.run().stdout.no_fnmatch_line("settings: *")
    assert shop.summary["settings"] == {}


def test_several_agents_of_the_environment_stand_between_commas(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = {"use": "scripted", "script": "clerk.yaml"}
    shop.suite(agents={"one": scripted, "two": scripted, "three": scripted})
    monkeypatch.setenv("DIALEVAL_AGENT", "three,one")

    assert [each.split("::")[1] for each in shop.ids()] == ["three-buyer-1", "one-buyer-1"]


def test_several_agents_of_the_table_are_a_list(shop: Shop) -> None:
    scripted = {"use": "scripted", "script": "clerk.yaml"}
    shop.suite(agents={"one": scripted, "two": scripted, "three": scripted})
    shop.write("pyproject.toml", f'{TOML}agent = ["two", "one"]\n')

    assert [each.split("::")[1] for each in shop.ids()] == ["two-buyer-1", "one-buyer-1"]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("trials", "0", "'0' is not a whole number of 1 or more"),
        ("trials", "2.5", "'2.5' is not a whole number of 1 or more"),
        ("trials", "two", "'two' is not a whole number of 1 or more"),
        ("concurrency", "-1", "'-1' is not a whole number of 1 or more"),
        ("ahead", "-1", "'-1' is not a whole number of 0 or more"),
        ("turn-timeout", "0", "'0' is not a number of seconds above 0"),
        ("timeout", "nan", "'nan' is not a number of seconds above 0"),
        ("timeout", "inf", "'inf' is not a number of seconds above 0"),
        ("seed", " ", "it is empty"),
    ],
)
class TestBadValuesAreOneLine:
    def test_of_an_option(self, shop: Shop, option: str, value: str, said: str) -> None:
        shop.suite()

        result = shop.run(f"--dialeval-{option}={value}")

        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*error: argument --dialeval-{option}: {said}"])

    def test_of_the_environment(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch, option: str, value: str, said: str
    ) -> None:
        shop.suite()
        name = f"DIALEVAL_{option.replace('-', '_').upper()}"
        monkeypatch.setenv(name, value)

        result = shop.run()

        assert result.ret == pytest.ExitCode.USAGE_ERROR
        shown = said.replace("' '", "''")
        assert f"ERROR: {name}: {shown}" in result.errlines

    def test_of_the_table(self, shop: Shop, option: str, value: str, said: str) -> None:
        shop.suite()
        key = option.replace("-", "_")
        shop.write("pyproject.toml", f'{TOML}{key} = "{value}"\n')

        result = shop.run()

        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert f"ERROR: [tool.dialeval] {key}: {said}" in result.errlines


def test_an_unknown_key_of_the_table_is_refused(shop: Shop) -> None:
    shop.suite()
    shop.write("pyproject.toml", f"{TOML}trails = 2\n")

    result = shop.run()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: pyproject.toml: [[]tool.dialeval[]] has no key 'trails' *did you mean 'trials'?"]
    )


@pytest.mark.parametrize(
    "table", ["tool.dialeval = 3", "[tool]\ndialeval = ['x']", f"{TOML}trials = [1, 2]"]
)
def test_a_table_that_is_none_is_refused(shop: Shop, table: str) -> None:
    shop.suite()
    shop.write("pyproject.toml", f"{table}\n")

    result = shop.run()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *[[]tool.dialeval[]] *"])


def test_a_bad_value_in_a_suite_is_the_suites_own_error(shop: Shop) -> None:
    shop.suite(trials=0)

    shop.run().stdout.fnmatch_lines(["shop.dialeval.yaml:*trials must be a whole number*not 0*"])


def test_bad_values_end_a_run_without_dialogues_too(shop: Shop) -> None:
    shop.write("test_other.py", "def test_other(): ...\n")

    assert shop.run("--dialeval-trials=0").ret == pytest.ExitCode.USAGE_ERROR


def test_runs_go_where_they_are_told(shop: Shop) -> None:
    shop.suite()

    result = shop.run("--dialeval-runs", "elsewhere/runs")

    [folder] = [each for each in (shop.path / "elsewhere/runs").iterdir() if each.is_dir()]
    assert (folder / "summary.json").is_file()
    result.stdout.fnmatch_lines([f"run: elsewhere/runs/{folder.name}"])
    assert not (shop.path / ".dialeval").exists()


def test_a_runs_folder_outside_is_named_whole(shop: Shop, tmp_path_factory: object) -> None:
    shop.suite()
    outside = tmp_path_factory.mktemp("outside")  # type: ignore[attr-defined]

    result = shop.run(f"--dialeval-runs={outside}")

    result.stdout.fnmatch_lines([f"run: {outside}/*"])


def drawn(shop: Shop, *arguments: str) -> list[str]:
    shop.run(*arguments).assert_outcomes(passed=1)
    return [each["text"] for each in shop.traces()[0] if each.get("speaker") == "user"]


def test_another_seed_meets_another_user_and_the_same_seed_the_same(shop: Shop) -> None:
    buyer = persona("buyer")
    buyer["script"]["states"]["start"]["say"] = [f"Lamp number {n}?" for n in range(200)]
    shop.suite(personas=[buyer], rubrics=[rubric("greet")])

    first = drawn(shop, "--dialeval-seed", "one")
    assert drawn(shop, "--dialeval-seed", "one") == first
    assert drawn(shop, "--dialeval-seed", "two") != first


def test_the_seed_of_a_suite_is_used(shop: Shop) -> None:
    buyer = persona("buyer")
    buyer["script"]["states"]["start"]["say"] = [f"Lamp number {n}?" for n in range(200)]
    shop.suite(personas=[buyer], seed="one")
    first = drawn(shop)

    shop.suite(personas=[buyer])

    assert drawn(shop, "--dialeval-seed=one") == first


def test_help_lists_every_option_under_one_heading(shop: Shop) -> None:
    text = shop.run("--help").stdout.str()

    _, _, ours = text.partition("conversational agents (pytest-dialeval):")
    for name in ("agent", "trials", "seed", "label", "runs", "turn-timeout", "timeout"):
        assert f"--dialeval-{name}" in ours


def test_the_suites_run_stands_above_agents_of_the_project_file(shop: Shop) -> None:
    scripted = {"use": "scripted", "script": "clerk.yaml"}
    shop.suite(agents={"one": scripted, "two": scripted}, run=["one"])
    shop.write("pyproject.toml", f'{TOML}agent = ["two"]\n')
    assert [each.split("::")[1] for each in shop.ids()] == ["one-buyer-1"]
    assert [each.split("::")[1] for each in shop.ids("--dialeval-agent=two")] == ["two-buyer-1"]


def test_a_variable_that_sets_nothing_is_said(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALEVAL_TRAILS", "3")
    shop.suite()
    result = shop.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["the variable DIALEVAL_TRAILS sets nothing; did you mean 'DIALEVAL_TRIALS'?"]
    )


def test_a_slip_of_the_finger_in_trials_is_refused(shop: Shop) -> None:
    shop.suite()
    result = shop.run("--dialeval-trials=1000000000")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["shop.dialeval.yaml:1: 1000000000 trials are more than 100000*"])
