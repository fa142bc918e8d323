"""Which agents run: `run:`, --dialeval-agent NAME and NAME=SPEC."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

SCRIPTED = {"use": "scripted", "script": "clerk.yaml"}
RUDE = {"use": "scripted", "script": "rude.yaml"}


@pytest.fixture
def two(shop: Shop) -> Shop:
    """A suite with a clerk that runs and a rude one that does not."""
    shop.write("rude.yaml", "otherwise: [What now?]\n")
    shop.suite(agents={"clerk": SCRIPTED, "rude": RUDE}, run=["clerk"])
    return shop


def agents_run(shop: Shop) -> list[str]:
    return [each["name"] for task in shop.summary["tasks"] for each in task["agents"]]


def test_all_agents_run_where_nothing_chooses(shop: Shop) -> None:
    shop.write("rude.yaml", "otherwise: [What now?]\n")
    shop.suite(agents={"clerk": SCRIPTED, "rude": RUDE})

    shop.run().assert_outcomes(passed=1, failed=1)

    assert agents_run(shop) == ["clerk", "rude"]


def test_run_chooses(two: Shop) -> None:
    two.run().assert_outcomes(passed=1)

    assert agents_run(two) == ["clerk"]


def test_the_option_replaces_the_choice(two: Shop) -> None:
    two.run("--dialeval-agent", "rude").assert_outcomes(failed=1)

    assert agents_run(two) == ["rude"]


def test_the_option_may_be_repeated(two: Shop) -> None:
    two.run("--dialeval-agent=rude", "--dialeval-agent=clerk").assert_outcomes(passed=1, failed=1)

    assert agents_run(two) == ["rude", "clerk"]


def test_one_name_given_twice_runs_once(two: Shop) -> None:
    assert len(two.ids("--dialeval-agent=rude", "--dialeval-agent=rude")) == 1


def test_two_agents_of_one_name_are_refused(two: Shop) -> None:
    result = two.run("--dialeval-agent=a=openai:m", "--dialeval-agent=a=openai:n")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "--dialeval-agent: 'a' is given twice, as openai:m and as openai:n: give each a name *"
    result.stderr.fnmatch_lines([f"ERROR: {said}"])


def test_name_and_spec_declare_and_choose(two: Shop) -> None:
    two.write("own.py", "def own(message):\n    return 'Hello, own'\n")

    two.run("--dialeval-agent", "own=python:own.py:own").assert_outcomes(passed=1)

    assert agents_run(two) == ["own"]


def test_a_spec_and_a_name_run_both(two: Shop) -> None:
    two.write("own.py", "def own(message):\n    return 'Hello, own'\n")

    result = two.run("--dialeval-agent=own=python:own.py:own", "--dialeval-agent=rude")

    result.assert_outcomes(passed=1, failed=1)
    assert agents_run(two) == ["own", "rude"]


def test_a_spec_serves_a_suite_without_agents(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write("own.py", "def own(message):\n    return 'Hello, own'\n")

    shop.run("--dialeval-agent", "own=python:own.py:own").assert_outcomes(passed=1)


def test_a_spec_is_looked_up_from_the_folder_of_invocation(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.pytester.makeini("[pytest]")
    shop.suite("deep/shop", agents=None)
    shop.write("deep/own.py", "def own(message):\n    return 'Hello, own'\n")
    monkeypatch.chdir(shop.path / "deep")

    shop.run("--dialeval-agent", "own=python:own.py:own").assert_outcomes(passed=1)


def test_an_unknown_name_is_one_line_with_the_likely_one(two: Shop) -> None:
    result = two.run("--dialeval-agent", "clrk")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: --dialeval-agent: no suite declares 'clrk' (declared: clerk, rude); "
            "did you mean 'clerk'?"
        ]
    )
    assert not (two.path / ".dialeval").exists()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Clerk", "*'Clerk'*a-z, 0-9 and _*"),
        ("clerk=", "*'clerk=' has nothing after the '='*"),
        ("=python:x:y", "*''*a-z, 0-9 and _*"),
        ("openai:gpt-4o-mini", "*'openai:gpt-4o-mini' has no name; write NAME=openai:gpt-4o-mini"),
        ("http://x/?a=b", "*'http://x/?a=b' has no name; write NAME=http://x/?a=b"),
        ("gpt-4o=openai:gpt-4o", "*'gpt-4o' is no agent's name *; write gpt_4o=openai:gpt-4o"),
        ("Rude", "*'Rude' is no agent's name (allowed: a-z, 0-9 and _); write rude"),
        ("=openai:m", "*'' is no agent's name (allowed: a-z, 0-9 and _)"),
        ("", "*--dialeval-agent*"),
    ],
)
def test_a_name_that_is_none_is_one_line(two: Shop, text: str, said: str) -> None:
    result = two.run(f"--dialeval-agent={text}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])


def test_other_suites_are_left_out_with_a_note(two: Shop) -> None:
    two.suite("other", agents={"cashier": SCRIPTED})

    result = two.run("--dialeval-agent", "rude")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["other.dialeval.yaml left out: it declares cashier, not rude"])
    assert [each["source"] for each in two.summary["tasks"]] == ["shop.dialeval.yaml"]


def test_a_suite_runs_the_names_that_it_declares_of_those_given(two: Shop) -> None:
    two.suite("other", agents={"cashier": SCRIPTED})

    ids = two.ids("--dialeval-agent=rude", "--dialeval-agent=cashier")

    assert ids == [
        "other.dialeval.yaml::buyer-1::greet",
        "shop.dialeval.yaml::rude-buyer-1::greet",
    ]


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("pyton:own.py:own", "unknown kind of agent 'pyton:own.py:own'; did you mean 'python:*"),
        ("gpt-4o-mini", "unknown kind of agent 'gpt-4o-mini' (allowed: scripted, *"),
        ("openai", "unknown kind of agent 'openai'; did you mean 'openai:MODEL'? *"),
        ("openai:m@localhost:1/v1", "*did you mean 'openai:m@http://localhost:1/v1'?"),
        ("python:none.py:own", "there is no file 'none.py' in *"),
        ("python:own.py:onw", "'own.py' has no 'onw'; did you mean 'own'?"),
        ("scripted", "'scripted' needs the key 'script': its file"),
    ],
)
def test_an_agent_of_an_option_that_cannot_be_is_one_line(shop: Shop, use: str, said: str) -> None:
    shop.write("own.py", "def own(message):\n    return 'Hello'\n")
    shop.suite(rubrics=[rubric("greet"), rubric("bye", "Goodbye")], trials=3)

    result = shop.run("--dialeval-agent", f"clerk={use}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --dialeval-agent: agent 'clerk': {said}"])
    assert shop.runs == []


def test_an_option_may_name_an_agent_of_the_hook(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        "def pytest_dialeval_agents(config):\n    return {'own': lambda message: 'Hello'}\n",
    )
    shop.suite()

    shop.run("--dialeval-agent", "mine=own").assert_outcomes(passed=1)
    result = shop.run("--dialeval-agent", "mine=onw")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown kind of agent 'onw'*(there: own)*"])


def test_suites_and_options_name_the_same_kinds(shop: Shop) -> None:
    shop.suite()
    option = shop.run("--dialeval-agent", "clerk=scritped").stderr.str()
    shop.suite(agents={"clerk": {"use": "scritped:x"}})
    suite = shop.run().stdout.str()

    kinds = suite.partition("(allowed: ")[2].partition(", or a name that the hook")[0]
    assert "http://HOST/PATH" in kinds
    assert "ollama:MODEL" in kinds
    assert kinds in option


def test_what_does_not_run_need_not_be_there(shop: Shop) -> None:
    shop.write("own.py", "def own(message):\n    return 'Hello'\n")
    broken = {
        "gone": {"use": "python:gone.py:agent"},
        "lost": {"use": "scripted", "script": "lost.yaml"},
        "odd": {"use": "replay", "path": "odd.jsonl"},
    }
    shop.suite(agents=broken)

    result = shop.run("--dialeval-agent", "own=python:own.py:own")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["4 notes on the suites: *agent 'gone', which does not run: *"])
    assert shop.run().ret == pytest.ExitCode.INTERRUPTED
    assert shop.run("--dialeval-agent", "gone").ret == pytest.ExitCode.INTERRUPTED


def test_an_agent_that_the_suite_does_not_declare_but_runs(shop: Shop) -> None:
    shop.suite(run=["clrk"])

    shop.run().stdout.fnmatch_lines(["shop.dialeval.yaml:*no agent 'clrk'; did you mean 'clerk'?*"])


def test_recorded_agents_are_chosen_by_name_too(shop: Shop) -> None:
    shop.write(
        "talks.json",
        '[{"task_id": "7", "reward": 1, "traj": '
        '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}]',
    )
    sources = [
        {"format": "tau-bench", "path": "talks.json", "agent": name} for name in ("old", "new")
    ]
    shop.suite(agents=None, personas=None, transcripts=sources)

    assert shop.ids("--dialeval-agent", "new") == ["shop.dialeval.yaml::new-7-1::greet"]
