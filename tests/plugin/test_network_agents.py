"""What the plugin makes of agents over the network, as far as nobody has to be called."""

from __future__ import annotations

from .conftest import Shop, persona


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
