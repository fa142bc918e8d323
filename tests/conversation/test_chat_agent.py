"""An agent that a model plays: what it is asked, tools, and whose fault what is."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.chat_agent import STEPS
from pytest_dialeval.conversation.importing import imported
from pytest_dialeval.conversation.resolve import agent_factory, model_of
from pytest_dialeval.errors import (
    BudgetProblem,
    BudgetSpent,
    CassetteMiss,
    HarnessFault,
    ProviderFault,
    RunError,
)
from pytest_dialeval.models.watch import LoopWatch
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelToolCall
from pytest_dialeval.records.suite import AgentSpec, Limits
from pytest_dialeval.records.transcript import ToolCall, Transcript, Usage
from tests.conversation.stage import MATCHERS, conversing, said
from tests.models.scripted_chat import USAGE, ScriptedChat

PROMPT = "You are a clerk."
TOOLS = """\
import asyncio
import threading
import time

from pytest_dialeval import Brief, NotMeasured


def price(item: str) -> dict:
    "What an item costs."
    if item == "nothing":
        raise KeyError(item)
    return {"item": item, "thread": threading.current_thread().daemon}


async def blocks() -> str:
    time.sleep(0.5)
    return "done"


async def open_at(day: str = "today") -> str:
    await asyncio.sleep(0)
    return f"10 to 6 {day}"


def leave():
    raise SystemExit(3)


def about(brief: Brief):
    return {"task": brief.task, "folder": brief.workspace}


def later():
    return open_at("later")


def unknowable():
    raise NotMeasured("the shop's own server is down")


gate = threading.Event()


def stuck():
    gate.wait(30)
"""


@pytest.fixture
def tools(tmp_path: Path) -> list[str]:
    (tmp_path / "shop.py").write_text(TOOLS)
    names = ("price", "open_at", "leave", "later", "unknowable", "stuck", "blocks", "about")
    return [f"python:shop.py:{each}" for each in names]


def factory(chat: Any, root: Path = Path("/"), use: str = "openai:m", **options: Any) -> Any:
    spec = AgentSpec("agent", use, options, folder=str(root))
    return agent_factory(spec, rootdir=root, matchers=MATCHERS, chat=chat)


def held(chat: Any, root: Path = Path("/"), *, use: str = "openai:m", **keys: Any) -> Transcript:
    options = keys.pop("options", {})
    talk = conversing(factory(chat, root, use, **options), **{"max_rounds": 1, **keys})
    return asyncio.run(talk)


def calls(*wanted: tuple[str, str], text: str = "") -> ChatAnswer:
    made = [ModelToolCall(f"c{n}", *each) for n, each in enumerate(wanted)]
    return ChatAnswer(text, tuple(made), finish="tool_calls", usage=USAGE)


# What is asked


def test_the_task_s_prompt_and_all_that_was_said():
    chat = ScriptedChat("Good day.", "Ten.")
    transcript = held(chat, prompt=PROMPT, max_rounds=2, case="task.agent.persona", trial=3)
    assert said(transcript, "agent") == ["Good day.", "Ten."]
    assert transcript.turns[1].usage == USAGE
    first, second = chat.calls
    assert first.messages == (
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": "hello"},
    )
    assert second.messages == (
        *first.messages,
        {"role": "assistant", "content": "Good day."},
        {"role": "user", "content": "hello"},
    )
    assert [each.purpose for each in chat.calls] == ["turn 2", "turn 4"]
    assert {(each.case, each.trial) for each in chat.calls} == {("task.agent.persona", 3)}
    assert first.tools == () and first.spec.role == "agent"


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ({}, PROMPT),
        ({"prompt": "Mine."}, "Mine."),
        ({"prompt": None}, None),
        ({"prompt": " "}, None),
    ],
)
def test_a_prompt_of_its_own(options: dict[str, object], content: str | None):
    chat = ScriptedChat("x")
    held(chat, prompt=PROMPT, options=options)
    systems = [each["content"] for each in chat.calls[0].messages if each["role"] == "system"]
    assert systems == ([content] if content else [])


def test_an_agent_that_opens_has_its_prompt_alone():
    chat = ScriptedChat("Hello!")
    transcript = held(chat, prompt=PROMPT, opening="agent")
    assert said(transcript, "agent")[0] == "Hello!"
    assert [each["role"] for each in chat.calls[0].messages] == ["system"]
    assert [each.purpose for each in chat.calls] == ["turn 1", "turn 3"]


def test_options_become_the_model_s():
    options = {"temperature": 0.3, "seed": 7, "max_tokens": 90, "api_key_env": "MY_KEY"}
    chat = ScriptedChat("x")
    held(chat, use="vllm/qwen:7b@http://gpu:8000/v1/", options=options)
    spec = chat.calls[0].spec
    assert (spec.endpoint, spec.model, spec.base_url) == ("vllm", "qwen:7b", "http://gpu:8000/v1")
    assert {key: getattr(spec, key) for key in options} == options


def test_the_call_is_late_before_the_turn_is():
    chat = ScriptedChat("x")
    held(chat, limits=Limits(turn_timeout=40))
    assert 39 < chat.deadlines[0] < 40


class Standing(LoopWatch):
    """As it is while somebody else blocks the loop."""

    now = 5.0


def test_a_turn_s_later_calls_have_what_its_watch_leaves(tools: list[str], tmp_path: Path):
    chat = ScriptedChat(calls(("open_at", "{}")), "Ten.")
    spec = AgentSpec("agent", "openai:m", {"tools": tools}, folder=str(tmp_path))
    made = agent_factory(spec, rootdir=tmp_path, matchers=MATCHERS, chat=chat, watch=Standing())
    asyncio.run(conversing(made, max_rounds=1, limits=Limits(turn_timeout=40)))
    first, second = chat.deadlines
    assert first == second == 39.75


def test_conversations_of_one_factory_share_nothing():
    chat = ScriptedChat("x")

    async def both() -> None:
        make = factory(chat)
        talks = (conversing(make, max_rounds=2, trial=each) for each in (1, 2))
        await asyncio.gather(*talks)

    asyncio.run(both())
    assert sorted(len(each.messages) for each in chat.calls) == [1, 1, 3, 3]
    assert sorted(each.trial for each in chat.calls) == [1, 1, 2, 2]


# Tools


def test_calls_and_results_stand_in_the_transcript(tmp_path: Path, tools: list[str]):
    wanted = calls(("price", '{"item": "tea"}'), ("open_at", ""), text="Let me see.")
    chat = ScriptedChat(wanted, "Here you are.")
    [_, turn] = held(chat, tmp_path, options={"tools": tools}).turns
    assert turn.text == "Let me see.\nHere you are."
    price = '{"item": "tea", "thread": true}'
    assert turn.tool_calls == (
        ToolCall("price", {"item": "tea"}, "c0", price),
        ToolCall("open_at", {}, "c1", "10 to 6 today"),
    )
    assert turn.usage == Usage(2000, 200, 100)
    first, second = chat.calls
    assert [each["function"]["name"] for each in first.tools] == [  # type: ignore[index]
        each.rpartition(":")[2] for each in tools
    ]
    function = {"name": "price", "arguments": '{"item": "tea"}'}
    assert second.messages[1:] == (
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c0", "type": "function", "function": function},
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "open_at", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c0", "content": price},
        {"role": "tool", "tool_call_id": "c1", "content": "10 to 6 today"},
    )
    assert [each.purpose for each in chat.calls] == ["turn 2", "turn 2, step 2"]
    assert_no_thread_is_left()


@pytest.mark.parametrize(
    ("name", "arguments", "recorded", "result"),
    [
        ("price", '{"item": "nothing"}', {"item": "nothing"}, "KeyError: 'nothing'"),
        ("leave", "{}", {}, "SystemExit: 3"),
        (
            "price",
            '{"item": ',
            '{"item": ',
            "the arguments must be a JSON object, not '{\"item\": '",
        ),
        ("price", "[1]", [1], "the arguments must be a JSON object, not '[1]'"),
        ("price", "{}", {}, "the arguments are wrong: item: Field required"),
        (
            "prize",
            "{}",
            {},
            "there is no tool 'prize'; did you mean 'price'? (tools: price, open_at",
        ),
        ("", "{}", {}, "there is no tool ''"),
    ],
)
def test_what_the_model_did_wrong_is_told_and_recorded(
    tmp_path: Path, tools: list[str], name: str, arguments: str, recorded: object, result: str
):
    chat = ScriptedChat(calls((name, arguments)), "Sorry.")
    transcript = held(chat, tmp_path, options={"tools": tools})
    assert transcript.outcome == "limit_reached", transcript.reason
    [call] = transcript.turns[1].tool_calls
    assert (call.name, call.arguments, call.error) == (name, recorded, True)
    assert call.result is not None and call.result.startswith(result)
    *_, asked, told = chat.calls[1].messages
    assert told["content"] == call.result
    [sent] = asked["tool_calls"]  # type: ignore[misc]
    assert sent["function"]["arguments"] in ('{"item": "nothing"}', "{}")  # what endpoints take


def test_a_function_that_returns_a_coroutine_is_awaited(tmp_path: Path, tools: list[str]):
    chat = ScriptedChat(calls(("later", "{}")), "x")
    [call] = held(chat, tmp_path, options={"tools": tools}).turns[1].tool_calls
    assert (call.result, call.error) == ("10 to 6 later", False)


def test_a_tool_may_know_of_its_conversation(tmp_path: Path, tools: list[str]):
    chat = ScriptedChat(calls(("about", "{}")), "There.")
    [_, turn] = held(chat, tmp_path, options={"tools": tools}).turns
    [call] = turn.tool_calls
    assert call.result == '{"task": "task", "folder": null}'


def test_a_tool_may_say_that_nothing_can_be_known(tmp_path: Path, tools: list[str]):
    transcript = held(ScriptedChat(calls(("unknowable", "{}"))), tmp_path, options={"tools": tools})
    assert transcript.outcome == "provider_error"
    assert transcript.reason == "the shop's own server is down"


def test_a_tool_that_never_returns_is_the_agent_s_own_lateness(tmp_path: Path, tools: list[str]):
    chat = ScriptedChat(calls(("stuck", "{}")))
    transcript = held(chat, tmp_path, options={"tools": tools}, limits=Limits(turn_timeout=0.1))
    assert transcript.outcome == "agent_error"
    late = "openai:m: no answer within 0.1 s (limits.turn_timeout); it waited for its tool 'stuck'"
    assert transcript.reason == late
    imported("shop.py:gate", [tmp_path]).set()  # type: ignore[attr-defined]
    assert_no_thread_is_left()


def test_a_tool_that_blocks_the_loop_is_too(tmp_path: Path, tools: list[str]):
    class Hanging(ScriptedChat):
        async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
            if self.calls:
                await asyncio.sleep(30)
            return await super().chat(call, deadline=deadline)

    chat = Hanging(calls(("blocks", "{}")))
    transcript = held(chat, tmp_path, options={"tools": tools}, limits=Limits(turn_timeout=0.2))
    assert transcript.outcome == "agent_error", transcript.reason
    assert "it blocked the event loop for 0.5" in transcript.reason


def assert_no_thread_is_left() -> None:
    for each in threading.enumerate():
        if each.name.startswith("agent agent"):
            each.join(5)
            assert not each.is_alive()


def test_ids_are_given_where_there_are_none(tmp_path: Path, tools: list[str]):
    two = ChatAnswer("", (ModelToolCall("", "open_at", ""), ModelToolCall("", "open_at", "")))
    chat = ScriptedChat(two, "x")
    turn = held(chat, tmp_path, options={"tools": tools}).turns[1]
    assert [each.id for each in turn.tool_calls] == ["call_2_1_1", "call_2_1_2"]
    assert turn.usage == Usage()  # one of its calls is unknown


def test_an_agent_that_only_calls_tools_is_stopped(tmp_path: Path, tools: list[str]):
    chat = ScriptedChat(calls(("open_at", '{"day": "soon"}')))
    transcript = held(chat, tmp_path, options={"tools": tools})
    assert transcript.outcome == "agent_error" and len(chat.calls) == STEPS
    assert transcript.reason.endswith('in one turn; the last call: open_at({"day": "soon"})')


def test_a_model_that_has_no_tools_and_calls_one():
    chat = ScriptedChat(calls(("search", "{}")), "I can't.")
    turn = held(chat).turns[1]
    assert turn.tool_calls[0].result == "there is no tool 'search' (tools: none)"
    assert turn.text == "I can't."


# The agent's reply, whatever it is


@pytest.mark.parametrize(
    ("answer", "text", "log"),
    [
        (ChatAnswer("", refusal="I won't."), "I won't.", "the model refused"),
        (ChatAnswer("Half a", finish="length"), "Half a", "was cut"),
        (ChatAnswer("", finish="content_filter"), "", "was filtered"),
        (ChatAnswer(""), "", "is empty"),
        (ChatAnswer("Well.\x1b[31m\r\n"), "Well.\n", None),
    ],
)
def test_refused_filtered_cut_and_empty_text_is_what_it_said(
    caplog: pytest.LogCaptureFixture, answer: ChatAnswer, text: str, log: str | None
):
    chat = ScriptedChat(answer, "and on")
    with caplog.at_level(logging.WARNING):
        transcript = held(chat, max_rounds=2)
    assert transcript.outcome == "limit_reached"
    assert said(transcript, "agent") == [text, "and on"]
    assert (log is None) == (caplog.text == "") and (log or "") in caplog.text
    assert chat.calls[1].messages[1]["role"] == "assistant"
    assert isinstance(chat.calls[1].messages[1]["content"], str)


# Faults


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ProviderFault("openai:m at host: 503", status=503), "provider_error"),
        (CassetteMiss("no cassette holds this call"), "provider_error"),
        (BudgetSpent("no call is left"), "cancelled"),
        (HarnessFault("no file descriptor is left"), "harness_error"),
        (RunError("tapes/a.jsonl: cannot be written: No space left"), "harness_error"),
        (BudgetProblem("the price of 'openai:m' is unknown"), "harness_error"),
        (RuntimeError("a bug"), "harness_error"),
    ],
)
def test_a_call_that_fails_is_never_the_agent_s(error: Exception, outcome: str):
    transcript = held(ScriptedChat(error))
    assert transcript.outcome == outcome
    assert str(error) in transcript.reason and "the agent raised" not in transcript.reason


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(turn_timeout=0.05), "no answer within 0.05 s (limits.turn_timeout)"),
        (Limits(timeout=0.05), "the conversation took longer than 0.05 s (limits.timeout)"),
    ],
)
def test_past_a_deadline(limits: Limits, reason: str):
    chat = ScriptedChat("x")

    async def story() -> Transcript:
        chat.gate = asyncio.Event()
        return await conversing(factory(chat), limits=limits)

    transcript = asyncio.run(story())
    assert (transcript.outcome, transcript.reason) == ("provider_error", f"openai:m: {reason}")
    assert chat.running == 0


def test_without_a_model_it_can_be_checked_and_not_talked_to():
    transcript = held(None)
    assert transcript.outcome == "harness_error"
    assert transcript.reason == "openai:m: no model is connected here"


@pytest.mark.parametrize(
    ("use", "options", "words"),
    [
        ("openai:", {}, "'openai:' is no model; write openai:NAME"),
        ("openai:m@http://", {}, "base_url must be a URL"),
        ("openai:m", {"base_url": "x"}, "base_url must be a URL"),
        ("openai:m", {"tools": ["python:nope.py:f"]}, "there is no file 'nope.py'"),
        ("openai:m", {"tools": ["python:shop.py:gate"]}, "must be a function"),
        ("openai:m", {"tools": ["python:shop.py:price"] * 2}, "two tools are called 'price'"),
    ],
)
def test_what_cannot_be_is_one_message(
    tmp_path: Path, tools: list[str], use: str, options: dict[str, Any], words: str
):
    with pytest.raises(HarnessFault) as caught:
        factory(None, tmp_path, use, **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith("agent 'agent': ")


def test_which_model_plays_an_agent():
    model = model_of(AgentSpec("a", "deepseek:chat", {"seed": 3, "tools": ["x"]}))
    assert model is not None and (model.endpoint, model.model) == ("deepseek", "chat")
    assert (model.role, model.seed, model.temperature) == ("agent", 3, None)
    assert model_of(AgentSpec("a", "openai")) is None
    assert model_of(AgentSpec("a", "https://openai/x")) is None
