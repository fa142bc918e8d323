"""What the plugin makes of agents over the network."""

from __future__ import annotations

import pytest

from tests.conversation.web_server import answer
from tests.models.server import KEY, error, say

from .conftest import Shop, persona
from .endpoint import endpoint


def test_a_model_is_isolated_unless_it_has_functions_of_this_process(shop: Shop) -> None:
    shop.write("tools.py", "def find(item: str) -> str:\n    return 'found'\n")
    model = {"use": "openai:m", "api_key_env": "A_KEY_THAT_IS_NOT_SET"}
    shop.suite(
        agents={
            "bare": model,
            "armed": {**model, "tools": ["python:tools.py:find"]},
            "far": {"use": "http://localhost:1/", "headers": {"X-Key": "${A_KEY_THAT_IS_NOT_SET}"}},
        }
    )
    result = shop.run()
    assert result.ret == 10
    agents = shop.summary["tasks"][0]["agents"]
    isolated = {each["name"]: each["isolated"] for each in agents}
    assert isolated == {"bare": True, "armed": False, "far": True}
    assert {each["unmeasured"] for each in agents} == {1}
    result.stdout.fnmatch_lines(["*armed: not isolated, the agent runs in this process*"])


def test_calls_of_a_trial_are_filed_by_case_and_number(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """\
        from pytest_dialeval.conversation.current import current_case

        def answer(message):
            return "Hello from " + "/".join(map(str, current_case.get()))
        """,
    )
    shop.suite(
        agents={"py": {"use": "python:agent.py:answer"}},
        personas=[persona("buyer"), persona("other", "Hello?", "Bye.")],
        trials=2,
    )
    assert shop.run("--dialeval-ahead=0").ret == 0
    told = {event["text"] for each in shop.traces() for event in each if "Hello f" in str(event)}
    names = ("buyer", "other")
    assert told == {f"Hello from shop.py.{each}/{n}" for each in names for n in (1, 2)}


TALKER = "Hello! The lamp is in stock."


def test_one_option_puts_a_model_in_the_agents_place(shop: Shop) -> None:
    shop.suite(task={"id": "shop", "prompt": "You sell lamps.", "max_rounds": 4})
    with endpoint(otherwise=say(TALKER)) as server:
        result = shop.run("--dialeval-agent", f"mini=openai:m@{server.base_url}")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["agent (openai:m@*): 2 calls, 22 tokens in, 14 out, *"])
    assert [each["role"] for each in server.bodies[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert server.bodies[0]["messages"][0]["content"] == "You sell lamps."


def test_the_role_agent_is_the_agent_where_nobody_brings_one(shop: Shop) -> None:
    shop.suite(agents=None, task={"id": "shop", "prompt": "You sell lamps.", "max_rounds": 4})
    with endpoint(otherwise=say(TALKER)) as server:
        model = f"openai:m@{server.base_url}"
        result = shop.run("--dialeval-model", f"agent={model}")

    assert result.ret == 0
    figures = shop.agent_figures()
    assert (figures["name"], figures["models"]) == ("model", {"agent": model})


def test_recorded_once_an_agent_answers_without_its_endpoint(shop: Shop) -> None:
    shop.suite(task={"id": "shop", "prompt": "You sell lamps.", "max_rounds": 4})
    with endpoint(otherwise=say(TALKER)) as server:
        shop.run("--dialeval-agent", f"mini=openai:m@{server.base_url}", "--dialeval-record=new")
    asked = server.requests

    assert shop.run("--dialeval-agent", "mini=openai:m").ret == 0
    assert server.requests == asked == 2
    [usage] = shop.summary["usage"]
    assert (usage["calls"], usage["replayed"], usage["cost_usd"]) == (0, 2, 0)


def test_a_refused_key_leaves_every_trial_unmeasured(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shop.suite(trials=3, agents={"mini": {"use": "openai:m", "prompt": "You sell lamps."}})
    with endpoint(otherwise=error(401, f"Incorrect API key provided: {KEY}")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        result = shop.run()

    assert result.ret == 10
    assert shop.summary["outcomes"]["provider_error"] == 3
    assert KEY not in result.stdout.str() + result.stderr.str()
    for path in shop.last_run.rglob("*"):
        assert not path.is_file() or KEY not in path.read_text(encoding="utf-8")


def test_a_server_behind_an_address_is_an_agent(shop: Shop) -> None:
    shop.suite(task={"id": "shop", "max_rounds": 4})
    with endpoint(otherwise=answer({"text": TALKER})) as server:
        use = f"far={server.base_url}/chat/completions"
        result = shop.run("--dialeval-agent", use)

    assert result.ret == 0
    assert [each["message"] for each in server.bodies] == ["Is the lamp in stock?", "Thanks, bye."]
    assert len({each["session"] for each in server.bodies}) == 1
