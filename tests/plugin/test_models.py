"""Which model plays which role, and what a user reads where that was said wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dialeval.models.specs import ROLES
from pytest_dialeval.records.model import Role

from .conftest import Shop, rubric
from .played import CLIENT, JUDGE, calls, judged, play, verdicts

OTHER = "python:client.py:other:fake-2"


def asked(shop: Shop) -> set[tuple[str, str]]:
    """The objects that were asked, by the model's name that they were given."""
    return {(name, model) for name, model, *_ in calls(shop)}


def table(shop: Shop, *lines: str) -> None:
    shop.write("pyproject.toml", "\n".join(lines) + "\n")


def project(shop: Shop, spec: str) -> None:
    table(shop, "[tool.dialeval.models]", f'judge = "{spec}"')


def in_subprocess(shop: Shop, *arguments: str) -> pytest.RunResult:
    options = ("-p", "xdist", "-n", "2", "-p", "dialeval")
    return shop.pytester.runpytest_subprocess(*options, *arguments)


# ---- who is asked


def test_the_suites_model_judges(shop: Shop) -> None:
    play(shop, rubrics=[judged("greet"), judged("never", "tractor")])
    shop.run().assert_outcomes(passed=1, failed=1)
    assert asked(shop) == {("judge", "fake-1")}


def test_the_project_files_model_where_the_suite_names_none(shop: Shop) -> None:
    play(shop, models=None)
    project(shop, OTHER)
    assert shop.run().ret == 0
    assert asked(shop) == {("other", "fake-2")}


def test_the_suite_goes_before_the_project_file(shop: Shop) -> None:
    play(shop)
    project(shop, OTHER)
    assert shop.run().ret == 0
    assert asked(shop) == {("judge", "fake-1")}


@pytest.mark.parametrize(
    ("name", "value"),
    [("DIALEVAL_MODEL_JUDGE", OTHER), ("DIALEVAL_MODEL", f"judge={OTHER}")],
)
def test_the_environment_goes_before_the_suite(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    play(shop)
    monkeypatch.setenv(name, value)
    assert shop.run().ret == 0
    assert asked(shop) == {("other", "fake-2")}


def test_the_option_goes_before_all(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    play(shop)
    project(shop, JUDGE)
    monkeypatch.setenv("DIALEVAL_MODEL_JUDGE", JUDGE)
    result = shop.run("--dialeval-model", f"judge={OTHER}")
    assert result.ret == 0
    assert asked(shop) == {("other", "fake-2")}
    assert shop.summary["settings"]["model"]["source"] == "--dialeval-model"


def test_an_ini_line_is_of_the_project_file(shop: Shop) -> None:
    play(shop, models=None)
    shop.write("pytest.ini", f"[pytest]\ndialeval_model =\n    judge={OTHER}\n")
    assert shop.run().ret == 0
    assert asked(shop) == {("other", "fake-2")}


# ---- key by key

WARM = {"judge": {"temperature": 0.5}}
NAMED = f'judge = {{model = "{OTHER}", temperature = 1, seed = 3}}'


def warm(shop: Shop, models: dict[str, Any] | None, *project: str) -> None:
    """A suite whose doubles write down the temperature and the seed too."""
    play(shop, models=models)
    sampling = "call.purpose, call.spec.temperature, call.spec.seed]"
    shop.write("client.py", CLIENT.replace("call.purpose]", sampling))
    table(shop, "[tool.dialeval.models]", *project)


def sampled(shop: Shop) -> list[tuple[Any, ...]]:
    """Name, temperature and seed of each call."""
    return [(each[0], *each[-2:]) for each in calls(shop)]


def test_a_suite_changes_the_temperature_of_the_project_files_model(shop: Shop) -> None:
    warm(shop, WARM, NAMED)
    assert shop.run().ret == 0
    assert sampled(shop) == [("other", 0.5, 3)]


@pytest.mark.slow
def test_it_does_so_under_xdist(shop: Shop) -> None:
    warm(shop, WARM, NAMED)
    assert in_subprocess(shop).ret == 0
    assert sampled(shop) == [("other", 0.5, 3)]


@pytest.mark.parametrize("project", [[], [NAMED]])
def test_an_option_names_another_model_and_the_suites_temperature_stays(
    shop: Shop, project: list[str]
) -> None:
    warm(shop, WARM, *project)
    assert shop.run("--dialeval-model", f"judge={JUDGE}").ret == 0
    assert sampled(shop) == [("judge", 0.5, 3 if project else None)]


def test_so_does_the_environment(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    warm(shop, WARM)
    monkeypatch.setenv("DIALEVAL_MODEL_JUDGE", JUDGE)
    assert shop.run().ret == 0
    assert sampled(shop) == [("judge", 0.5, None)]


def test_the_project_files_temperature_holds_for_the_suites_model(shop: Shop) -> None:
    warm(shop, {"judge": JUDGE}, "judge = {temperature = 0.5}")
    assert shop.run().ret == 0
    assert sampled(shop) == [("judge", 0.5, None)]
    assert not [each for each in shop.summary["notes"] if "nobody names" in each]


def test_an_ini_line_and_the_table_are_one_project_file(shop: Shop) -> None:
    warm(shop, None, "judge = {temperature = 0.5}")
    shop.write("pytest.ini", f"[pytest]\ndialeval_model =\n    judge={OTHER}\n")
    assert shop.run().ret == 0
    assert sampled(shop) == [("other", 0.5, None)]


def test_what_the_project_file_says_of_a_model_that_nobody_names_is_noted(shop: Shop) -> None:
    play(shop, models=None, rubrics=[rubric("greet")])
    table(shop, "[tool.dialeval.models.judge]", "temperature = 0.5", "seed = 3")
    assert shop.run().ret == 0
    said = (
        "nobody names the model of 'judge', of which [tool.dialeval.models] says temperature, "
        'seed: add model = "openai:NAME" to judge in [tool.dialeval.models]'
    )
    assert shop.summary["notes"].count(said) == 1


@pytest.mark.parametrize("role", ROLES)
def test_what_a_suite_says_of_a_model_that_nobody_names_is_an_error(shop: Shop, role: Role) -> None:
    play(shop, models=None)
    with (shop.path / "shop.dialeval.yaml").open("a") as suite:
        suite.write(f"models:\n  {role}:\n    temperature: 0.5\n")
    result = shop.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stdout.str()
    [line] = [each for each in result.outlines if each.startswith("shop.dialeval.yaml:")]
    number = shop.line_of("shop.dialeval.yaml", f"  {role}:")
    assert line == (
        f"shop.dialeval.yaml:{number}: {role}: nobody names its model; add `model` here "
        "(openai:NAME, openai:NAME@BASE_URL, or python:file.py:object:NAME), or name it in "
        f"[tool.dialeval.models], in DIALEVAL_MODEL_{role.upper()} or by --dialeval-model "
        f"{role}=SPEC"
    )


HOOK = """
from pytest_dialeval import JudgeReply

async def own(question):
    return JudgeReply("not_met", "by the hook", absence=True)

def pytest_dialeval_judges(config):
    return {"default": own}
"""


def test_the_hook_goes_before_the_project_file(shop: Shop) -> None:
    play(shop, models=None)
    shop.write("conftest.py", HOOK)
    project(shop, JUDGE)

    result = shop.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'judge' plays nothing: the hook pytest_dialeval_judges brings*"])
    assert calls(shop) == []
    assert shop.agent_figures()["models"] == {}


def test_it_does_so_where_the_suite_changes_but_does_not_name_the_model(shop: Shop) -> None:
    play(shop, models=WARM)
    shop.write("conftest.py", HOOK)
    project(shop, JUDGE)
    shop.run().assert_outcomes(failed=1)
    assert calls(shop) == []


def test_the_suite_goes_before_the_hook(shop: Shop) -> None:
    play(shop)
    shop.write("conftest.py", HOOK)

    shop.run().assert_outcomes(passed=1)
    assert asked(shop) == {("judge", "fake-1")}
    assert set(shop.agent_figures()["models"]) == {"judge"}

    # Switched off, it leaves the hook's.
    shop.run("--dialeval-model", "judge=none").assert_outcomes(failed=1)


def test_so_do_the_environment_and_the_option(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    play(shop, models=None)
    shop.write("conftest.py", HOOK)

    shop.run("--dialeval-model", f"judge={OTHER}").assert_outcomes(passed=1)
    monkeypatch.setenv("DIALEVAL_MODEL_JUDGE", OTHER)
    shop.run().assert_outcomes(passed=1)
    assert asked(shop) == {("other", "fake-2")}


@pytest.mark.parametrize("nearer", ["suite", "project"])
def test_it_is_the_same_with_the_simulated_user(shop: Shop, nearer: str) -> None:
    user = JUDGE.replace("judge", "other")
    play(shop, models={"user": user} if nearer == "suite" else None, rubrics=[rubric("greet")])
    table(shop, "[tool.dialeval.models]", f'user = "{user}"')
    shop.write(
        "conftest.py",
        """
        from pytest_dialeval.conversation.user import Line, SimulatedUser

        class Loud(SimulatedUser):
            async def speak(self):
                line = await super().speak()
                return Line(line.text.upper(), line.state, last=line.last)

        def pytest_dialeval_simulators(config):
            return {"default": Loud}
        """,
    )

    assert shop.run().ret == 0

    loud = [each["text"].isupper() for each in shop.traces()[0] if each.get("speaker") == "user"]
    assert loud == [nearer == "project"] * len(loud) and loud
    assert (asked(shop) == {("other", "fake-1")}) is (nearer == "suite")


# ---- nobody


def test_none_switches_a_role_off(shop: Shop) -> None:
    play(shop, rubrics=[judged("greet"), rubric("stock", "stock")])
    result = shop.run("--dialeval-model", "judge=none")
    result.assert_outcomes(errors=1, passed=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*no judge is configured*"])
    assert calls(shop) == []


@pytest.mark.parametrize(
    "lines",
    [
        ['[tool.dialeval.models]\njudge = "none"'],
        ['[tool.dialeval]\nmodel = ["judge=none"]'],
    ],
)
def test_none_in_the_project_file(shop: Shop, lines: list[str]) -> None:
    play(shop, models=None)
    table(shop, *lines)
    result = shop.run()
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*no judge is configured*"])


def test_null_in_the_suite_is_overruled_by_an_option(shop: Shop) -> None:
    play(shop, models={"judge": None})
    assert shop.run().ret == 10
    assert shop.run("--dialeval-model", f"judge={JUDGE}").ret == 0


# ---- said wrongly


def refused(result: pytest.RunResult, *words: str) -> None:
    """One line of a mistake, status 4, and nothing of ours below it."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    lines = [each for each in text.splitlines() if all(word in each for word in words)]
    assert len(lines) == 1, text


WRONG = [
    ("jduge=openai:x", ("unknown role 'jduge'", "did you mean 'judge'?")),
    ("judge=opnai:x", ("unknown endpoint 'opnai'", "did you mean 'openai'?")),
    ("judge=gpt-4o", ("'gpt-4o' is no model",)),
    ("judge", ("'judge' is not ROLE=SPEC",)),
    ("judge=openai:x@http://", ("base_url must be a URL",)),
    ("judge=openai:x@htp://localhost:8000/v1", ("base_url must be a URL",)),
    ("judge=openai:x@://localhost", ("base_url must be a URL",)),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[each for each, _ in WRONG])
def test_a_wrong_option(shop: Shop, given: str, words: tuple[str, ...]) -> None:
    play(shop)
    refused(shop.run("--dialeval-model", given), "--dialeval-model", *words)
    assert shop.runs == []


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[each for each, _ in WRONG])
def test_a_wrong_variable(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, given: str, words: tuple[str, ...]
) -> None:
    play(shop)
    monkeypatch.setenv("DIALEVAL_MODEL", given)
    refused(shop.run(), "DIALEVAL_MODEL", *words)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["[tool.dialeval.models]", 'jduge = "openai:x"'], ["unknown role 'jduge'"]),
        (["[tool.dialeval.models]", 'judge = "opnai:x"'], ["unknown endpoint 'opnai'"]),
        (["[tool.dialeval.models]", "judge = 3"], ["judge: a model is openai:NAME", "not 3"]),
        (
            ["[tool.dialeval.models]", 'judge = {model = "openai:x", api_key = "s"}'],
            ["a key does not belong in a file", "api_key_env"],
        ),
        (["[tool.dialeval]", 'models = "x"'], ["[tool.dialeval.models] must be a table", "'x'"]),
        (["[tool.dialeval]", "prices = 3"], ["[tool.dialeval.prices] must be a table", "3"]),
        (
            ["[tool.dialeval.prices]", '"openai:x" = {inputs = 1}'],
            ["[tool.dialeval.prices]:", "'inputs'"],
        ),
    ],
)
def test_a_wrong_table(shop: Shop, lines: list[str], words: list[str]) -> None:
    play(shop)
    table(shop, *lines)
    refused(shop.run(), *words)


@pytest.mark.slow
@pytest.mark.parametrize("given", ["jduge=openai:x", "judge=opnai:x"])
def test_a_wrong_option_under_xdist(shop: Shop, given: str) -> None:
    play(shop)
    refused(in_subprocess(shop, "--dialeval-model", given), "--dialeval-model", "unknown")


@pytest.mark.slow
def test_a_wrong_table_under_xdist(shop: Shop) -> None:
    play(shop)
    table(shop, "[tool.dialeval.models]", 'jduge = "openai:x"')
    refused(in_subprocess(shop), "unknown role 'jduge'")


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ({"jduge": "openai:x"}, ["models", "jduge"]),
        ({"judge": "opnai:x"}, ["unknown endpoint 'opnai'"]),
        ({"judge": 3}, ["models.judge must be a spec", "not 3"]),
        ({"judge": "python:nope.py:judge:m"}, ["judge: there is no file 'nope.py' in"]),
        (
            {"judge": "python:client.py:jugde:m"},
            ["judge: 'client.py' has no 'jugde'; did you mean 'judge'?"],
        ),
    ],
)
def test_a_wrong_suite_is_an_error_of_its_file(
    shop: Shop, models: dict[str, Any], words: list[str]
) -> None:
    play(shop, models=models)
    result = shop.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    text = result.stdout.str()
    assert "Traceback" not in text
    [line] = [each for each in text.splitlines() if each.startswith("shop.dialeval.yaml:")]
    assert all(word in line for word in words), line
    assert line.startswith(f"shop.dialeval.yaml:{shop.line_of('shop.dialeval.yaml', 'models')}: ")
    assert "suite:" not in line


def test_an_unknown_variable_is_noted(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    play(shop)
    monkeypatch.setenv("DIALEVAL_MODEL_JUGDE", OTHER)
    shop.run().stdout.fnmatch_lines(
        ["the variable DIALEVAL_MODEL_JUGDE sets nothing; did you mean 'DIALEVAL_MODEL_JUDGE'?"]
    )


@pytest.mark.parametrize(
    ("role", "why"),
    [
        (
            "agent",
            "the agents are declared or brought, and their `use` names their models; "
            "--dialeval-agent NAME=SPEC tests a model in their place",
        ),
        (
            "comparer",
            "a model compares agents where `compare: {by: judge}` asks for it and two run",
        ),
        ("attacker", "nobody asks it yet"),
    ],
)
def test_a_model_that_plays_nothing_is_noted(shop: Shop, role: str, why: str) -> None:
    play(shop)
    result = shop.run("--dialeval-model", f"{role}=openai:gpt-4o")
    assert result.ret == 0
    assert shop.summary["notes"].count(f"the model of {role!r} plays nothing: {why}") == 1


# ---- what is written down


def test_manifest_and_summary_name_the_models(shop: Shop) -> None:
    play(shop)
    result = shop.run()
    named = {"judge": JUDGE}
    assert shop.record("manifest")["sources"]["shop.dialeval.yaml"]["models"] == {"clerk": named}
    assert shop.agent_figures()["models"] == named
    result.stdout.fnmatch_lines([f"judge ({JUDGE}): 1 call, 100 tokens in, 10 out,*"])


def test_a_judge_without_judged_rubrics_is_not_named(shop: Shop) -> None:
    play(shop, rubrics=[rubric("greet")])
    assert shop.run().ret == 0
    assert shop.agent_figures()["models"] == {}
    assert shop.summary["usage"] == []
    assert calls(shop) == []


def test_distinct_models_counts_roles_of_one_model(shop: Shop) -> None:
    play(shop, models={"judge": JUDGE, "user": JUDGE}, gates={"distinct_models": True})
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"gate distinct_models of shop / clerk: MISSED (*user and judge are {JUDGE}),*"]
    )
    result.stdout.fnmatch_lines([f"clerk: user and judge are one model, {JUDGE}"])


def test_distinct_models_counts_an_agent_that_is_a_model(shop: Shop) -> None:
    same = "openai:gpt-4o@http://127.0.0.1:9/v1"
    play(shop, models={"judge": same}, agents={"own": {"use": same}})
    # Nobody is called: who plays what is known without it.
    result = shop.run("--dialeval-distinct-models=true", "--dialeval-budget=calls=0")
    assert result.ret == 1
    assert shop.agent_figures()["models"] == {"agent": same, "judge": same}
    result.stdout.fnmatch_lines([f"*own: MISSED (agent and judge are {same})*"])
    result.stdout.fnmatch_lines([f"own: agent and judge are one model, {same}"])


def test_a_model_plays_the_user(shop: Shop) -> None:
    play(shop, models={"user": OTHER, "judge": JUDGE}, task={"id": "shop", "max_rounds": 4})
    result = shop.run()
    assert result.ret == 0
    assert ("other", "fake-2") in asked(shop)
    assert [each["role"] for each in shop.summary["usage"]] == ["user", "judge"]


def test_distinct_models_holds_where_they_differ(shop: Shop) -> None:
    play(shop, models={"judge": JUDGE, "user": OTHER})
    result = shop.run("--dialeval-distinct-models=true")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gate distinct_models of shop / clerk: held*"])
    result.stdout.no_fnmatch_line("*are one model*")


# ---- recordings, and what is missing


def test_a_judge_of_recordings(shop: Shop) -> None:
    shop.write(
        "talks/one.jsonl",
        '{"messages": [{"role": "user", "content": "Lamp?"}, '
        '{"role": "assistant", "content": "Hello! It is."}]}\n',
    )
    play(
        shop,
        agents=None,
        personas=None,
        transcripts=[{"format": "openai", "path": "talks/one.jsonl", "agent": "old"}],
        rubrics=[judged("greet"), judged("never", "tractor")],
    )
    shop.run().assert_outcomes(passed=1, failed=1)
    assert len(calls(shop)) == 2
    assert shop.agent_figures()["models"] == {"judge": JUDGE}


def test_an_object_that_cannot_be_loaded_is_one_message_and_no_call(shop: Shop) -> None:
    play(shop, trials=3)
    shop.write("client.py", "judge = = 1\n")
    result = shop.run("--dialeval-budget=calls=5")
    result.assert_outcomes(errors=3)
    assert result.ret == 10
    lines = {each for each in result.outlines if each.startswith("unmeasured:")}
    assert len(lines) == 1
    assert "'client.py' cannot be imported" in lines.pop()
    assert shop.summary["budget"][0]["spent"] == 0
    assert shop.summary["usage"] == []


def test_without_a_key_there_is_one_message(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    play(shop, models={"judge": "openai:gpt-4o"}, trials=3)
    result = shop.run()
    result.assert_outcomes(errors=3)
    assert result.ret == 10
    lines = [each for each in result.outlines if each.startswith("unmeasured:")]
    assert len(set(lines)) == 1
    assert "OPENAI_API_KEY" in lines[0]
    assert "Traceback" not in result.stdout.str()


def test_a_judge_that_cannot_be_reached_is_told_before_the_verdicts_own_deadline(
    shop: Shop,
) -> None:
    play(shop)
    late = '        if self.name == "judge":\n            await waited(deadline)\n'
    shop.write(
        "client.py",
        CLIENT.replace("        said = [", f"{late}        said = [")
        + """

async def waited(deadline):
    from pytest_dialeval.errors import ProviderFault

    await asyncio.sleep(deadline)
    raise ProviderFault("the endpoint is down")
""",
    )
    result = shop.run("--dialeval-timeout=0.5")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["unmeasured: the endpoint is down*"])
    [verdict] = verdicts(shop).values()
    assert verdict.fault == "provider_error"


def test_a_judge_that_judges_nothing_is_noted(shop: Shop) -> None:
    play(shop, rubrics=[rubric("greet")])
    assert shop.run().ret == 0
    assert "the model of 'judge' plays nothing: no rubric is judged" in shop.summary["notes"]

    play(shop, "other")
    assert shop.run().ret == 0
    assert not [each for each in shop.summary["notes"] if "plays nothing" in each]


def test_a_judge_that_is_switched_off_is_no_news(shop: Shop) -> None:
    play(shop)
    shop.run("--dialeval-no-judge")
    assert not [each for each in shop.summary["notes"] if "plays nothing" in each]


def test_a_user_beside_recordings_is_noted(shop: Shop) -> None:
    play(shop)
    shop.write(
        "talks.json",
        '[{"task_id": "7", "reward": 1, "traj": '
        '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}]',
    )
    sources = [{"format": "tau-bench", "path": "talks.json"}]
    play(shop, agents=None, personas=None, transcripts=sources)
    assert shop.run("--dialeval-model", f"user={JUDGE}").ret == 0
    why = "the conversations exist already, in the suite's `transcripts`"
    assert f"the model of 'user' plays nothing: {why}" in shop.summary["notes"]


def test_a_client_of_an_option_that_is_not_there_is_one_line(shop: Shop) -> None:
    play(shop)
    result = shop.run("--dialeval-model", "judge=python:client.py:nope:m")
    refused(result, "--dialeval-model: judge: 'client.py' has no 'nope'")
    assert shop.runs == []


def test_a_client_is_not_run_to_see_whether_it_is_there(shop: Shop) -> None:
    play(shop)
    shop.write("keyed.py", "import os\n\nclient = os.environ['NO_SUCH_KEY']\n")
    assert len(shop.ids("--dialeval-model", "judge=python:keyed.py:client:m")) == 1


def test_a_replay_needs_no_client(shop: Shop) -> None:
    play(shop)
    assert shop.run("--dialeval-record=new").ret == 0
    (shop.path / "client.py").unlink()
    assert shop.run().ret == 0


def test_what_a_client_raises_names_its_line(shop: Shop) -> None:
    play(shop, models={"judge": "python:own.py:judge"})
    shop.write(
        "own.py",
        "class Judge:\n    async def chat(self, call, *, deadline):\n        return {}['x']\n\n"
        "judge = Judge()\n",
    )
    shop.run().stdout.fnmatch_lines(
        ["unmeasured: python:own.py:judge: KeyError: 'x' (*/own.py:3) (provider_error)"]
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Judge", "'python:own.py:Judge' is a class; name an object that is made of it, or *"),
        ("make", "python:own.py:make: OSError: no key (*/own.py:6)"),
    ],
)
def test_a_client_that_cannot_be_made_says_why(shop: Shop, name: str, said: str) -> None:
    play(shop, models={"judge": f"python:own.py:{name}"})
    shop.write(
        "own.py",
        "class Judge:\n    async def chat(self, call, *, deadline):\n        ...\n\n"
        "def make():\n    raise OSError('no key')\n",
    )
    shop.run().stdout.fnmatch_lines([f"unmeasured: {said} (provider_error)"])
