from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import AgentFactory, Brief
from pytest_dialeval.conversation.agent_task import AgentTask
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.command import CommandAgent
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.deadline import Deadline
from pytest_dialeval.errors import AgentFault
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.transcript import ToolCall, Transcript
from tests.conversation.stage import MATCHERS, draw, held, patient, said, task
from tests.conversation.test_program import STUBBORN, gone, needs_proc, open_files

ECHO = """
import json
for line in open(0):
    message = json.loads(line)
    if message["type"] == "turn":
        print(json.dumps({"text": f"{message['text']}!"}))
"""


def program(text: str, *arguments: str) -> AgentFactory:
    return lambda: CommandAgent([sys.executable, "-c", text, *arguments], Path.cwd())


def answer(line: str) -> AgentFactory:
    """Says the same line to every turn."""
    return program(f"for line in open(0):\n if '\"turn\"' in line: print({line!r})")


def talk(factory: AgentFactory, **keys: Any) -> Transcript:
    return held(factory, adapted=True, **{"max_rounds": 2, **keys})


def test_each_turn_is_answered_by_one_line():
    transcript = talk(program(ECHO))
    assert transcript.outcome == "limit_reached"
    assert said(transcript, "agent") == ["hello!", "hello!"]


def test_the_agent_may_open():
    assert said(talk(program(ECHO), opening="agent"), "agent") == ["None!", "hello!", "hello!"]


def test_an_answer_may_hold_tool_calls_and_hang_up():
    line = '{"text": "bye", "tool_calls": [{"name": "pay", "result": 3}], "hang_up": true}'
    transcript = talk(answer(line))
    assert (transcript.outcome, transcript.ended_by) == ("completed", "agent")
    assert transcript.turns[1].tool_calls == (ToolCall("pay", result="3"),)


def test_what_a_program_is_told(tmp_path: Path):
    text = """
import json, sys
out = open(sys.argv[1], "w")
for line in open(0):
    out.write(line)
    out.flush()
    if '"turn"' in line: print('{"text": ""}')
"""
    talk(program(text, str(tmp_path / "told")), prompt="Be kind. 你好", variables={"fee": 3})
    told = [json.loads(line) for line in (tmp_path / "told").read_text("utf-8").splitlines()]
    assert [each["type"] for each in told] == ["start", "turn", "turn", "close"]
    start = told[0]
    assert len(start.pop("conversation")) == 32 and len(start.pop("seed")) == 14
    assert start == {
        "type": "start",
        "task": "task",
        "prompt": "Be kind. 你好",
        "variables": {"fee": 3},
        "language": "en",
        "opening": "user",
        "turn_timeout": 60.0,
    }
    assert told[1] == {"type": "turn", "text": "hello"}


def test_not_measured():
    transcript = talk(answer('{"not_measured": "the server is down"}'))
    assert (transcript.outcome, transcript.reason) == ("provider_error", "the server is down")


def test_a_million_characters_and_lone_surrogates():
    text = (
        "import json\nfor line in open(0):\n print(json.dumps({'text': 'x' * 10**6 + '\\ud800'}))"
    )
    program_text = text.replace(" print", " if 'turn\"' in line: print")
    transcript = talk(program(program_text), max_rounds=1)
    assert said(transcript, "agent") == ["x" * 10**6 + "\ufffd"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Hello!", "the program printed what is no JSON: 'Hello!'"),
        ('"Hello"', "the program printed '\"Hello\"'; an answer is an object such as"),
        ("[" * 100_000, "the program printed what is no JSON"),
        ('{"txt": "x"}', "key 'txt'"),
        ("{}", "empty dict"),
    ],
)
def test_garbage_is_an_agent_error(line: str, reason: str):
    transcript = talk(answer(line))
    assert transcript.outcome == "agent_error"
    assert reason in transcript.reason
    assert len(transcript.reason) < 400


def test_bytes_that_are_no_utf8_are_garbage():
    line = b'{"text": "\xc4\xe3"}\n'
    text = f"import os\nfor line in open(0):\n if '\"turn\"' in line: os.write(1, {line!r})"
    transcript = talk(program(text))
    assert transcript.outcome == "agent_error" and "no JSON" in transcript.reason


def test_a_line_that_nobody_asked_for_is_an_agent_error():
    # Otherwise each turn would be answered by what belongs to the turn before.
    lines = b'{"text": "a"}\n{"text": "b"}\n'
    transcript = talk(
        program(f"import os\nfor line in open(0):\n if '\"turn\"' in line: os.write(1, {lines})")
    )
    assert transcript.outcome == "agent_error"
    assert transcript.reason.endswith('printed a line that no turn asked for: \'{"text": "b"}\'')
    assert said(transcript, "agent") == ["a"]


def test_a_program_that_dies_says_its_last_words():
    text = "import sys\nopen(0).readline()\nsys.exit('no API key')"
    transcript = talk(program(text))
    assert transcript.outcome == "agent_error"
    expected = "the program ended with exit code 1; the end of its stderr: no API key"
    assert transcript.reason == expected


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["no-such-program", "x"], "'no-such-program x' cannot be started in "),
        (["/"], "cannot be started"),
        (["sh", "-c", "no-such-program"], "cannot be started: it ended with exit code 127"),
    ],
)
def test_what_cannot_start_is_no_fault_of_the_agents(command: list[str], reason: str):
    transcript = talk(lambda: CommandAgent(command, Path.cwd()))
    assert transcript.outcome == "harness_error"
    assert reason in transcript.reason


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    transcript = talk(lambda: CommandAgent([sys.executable], tmp_path / "gone"))
    assert transcript.outcome == "harness_error" and "gone" in transcript.reason


def test_it_runs_in_the_given_folder(tmp_path: Path):
    text = ECHO.replace("message['text']", "os.getcwd()").replace("json\n", "json, os\n", 1)
    agent: AgentFactory = lambda: CommandAgent([sys.executable, "-c", text], tmp_path)  # noqa: E731
    assert said(talk(agent, max_rounds=1), "agent") == [f"{tmp_path.resolve()}!"]


@needs_proc
def test_a_late_one_that_ignores_sigterm_is_killed_with_its_children(tmp_path: Path):
    text = STUBBORN.replace("print(child, flush=True)", "open(sys.argv[1], 'w').write(str(child))")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def main() -> tuple[int, float]:
        task = AgentTask(program(text, str(pipe)), LoopClock())
        await task.start(Brief("task"), Deadline(60, "never"))
        child = int(await asyncio.to_thread(pipe.read_text))
        began = time.monotonic()
        with pytest.raises(AgentFault, match="too late"):
            await task.reply((), Deadline(0.02, "too late"))
        await task.end()
        return child, time.monotonic() - began

    before = open_files()
    child, seconds = asyncio.run(main())
    assert gone(child)
    assert seconds < 1
    assert open_files() == before


def test_a_late_program_is_an_agent_error():
    transcript = talk(program("import signal; signal.pause()"), limits=Limits(turn_timeout=0.02))
    assert transcript.outcome == "agent_error"
    assert transcript.reason == "no answer within 0.02 s (limits.turn_timeout)"


@needs_proc
def test_a_cancelled_conversation_leaves_no_program(tmp_path: Path):
    text = STUBBORN.replace("print(child, flush=True)", "open(sys.argv[1], 'w').write(str(child))")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def main() -> int:
        talking = asyncio.create_task(
            converse(task(), patient(), program(text, str(pipe)), draw=draw(), matchers=MATCHERS)
        )
        child = int(await asyncio.to_thread(pipe.read_text))
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking
        return child

    assert gone(asyncio.run(main()))


def test_a_program_has_time_to_end_by_itself(tmp_path: Path):
    text = ECHO + "open(__import__('sys').argv[1], 'w').write('saved')"
    talk(program(text, str(tmp_path / "state")))
    assert (tmp_path / "state").read_text() == "saved"


def test_many_words_on_stderr_do_not_block():
    text = ECHO.replace("print(", "__import__('sys').stderr.write('x' * 10**6);print(")
    assert talk(program(text)).outcome == "limit_reached"


TELLS = """
import json, os, sys
for line in open(0):
    if json.loads(line)["type"] == "turn":
        print(json.dumps({"text": json.dumps(dict(os.environ))}))
"""


@pytest.mark.parametrize("in_folder", [False, True])
def test_its_environment_does_not_tell_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_folder: bool
):
    given = ("GIT_DIR", "PYTEST_ADDOPTS", "DIALEVAL_RUNS", "OLDPWD", "PWD", "SOME_API_KEY")
    for each in given:
        monkeypatch.setenv(each, "given")
    agent = CommandAgent([sys.executable, "-c", TELLS], tmp_path)

    async def asked() -> str:
        await agent.start(Brief("task", workspace=str(tmp_path) if in_folder else None))
        try:
            return (await agent.reply(())).text
        finally:
            await agent.close()

    told = json.loads(asyncio.run(asked()))
    assert "PYTEST_CURRENT_TEST" in os.environ and "PYTEST_CURRENT_TEST" not in told
    here = {each: told[each] for each in (*given, "DIALEVAL_WORKSPACE") if each in told}
    if in_folder:
        place = {"PWD": str(tmp_path), "DIALEVAL_WORKSPACE": str(tmp_path)}
        assert here == {**place, "SOME_API_KEY": "given"}
    else:
        assert here == dict.fromkeys(given, "given")


def test_a_program_works_in_its_folder(tmp_path: Path):
    text = """
import json, os, sys
for line in open(0):
    message = json.loads(line)
    if message["type"] == "start": where = message["workspace"]
    if message["type"] == "turn":
        print(json.dumps({"text": repr([where, os.getcwd(), os.environ["DIALEVAL_WORKSPACE"]])}))
"""
    (tmp_path / "work").mkdir()
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "bot.py").write_text(text)
    agent = CommandAgent([sys.executable, "bots/bot.py"], tmp_path)

    async def asked() -> str:
        await agent.start(Brief("task", workspace=str(tmp_path / "work")))
        try:
            return (await agent.reply(())).text
        finally:
            await agent.close()

    assert asyncio.run(asked()) == repr([str(tmp_path / "work")] * 3)
