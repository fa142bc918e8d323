"""Agents that misbehave: their own fault is a failure, any other an error; the others go on."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path

import pytest

from .conftest import Shop, rubric

GOOD = {"use": "scripted", "script": "clerk.yaml"}
SAFE = rubric(
    "safe", dimension="safety", keyword=None, **{"not": {"keyword": {"any": ["guarantee"]}}}
)


def beside(shop: Shop, use: str, *arguments: str, **agent: object) -> pytest.RunResult:
    """Run the agent beside one that is good, two trials each, with a rubric of each kind."""
    shop.suite(
        agents={"bad": {"use": use, **agent}, "good": GOOD},
        rubrics=[rubric("greet"), SAFE],
        trials=2,
    )
    return shop.run("-rA", *arguments)


def python(shop: Shop, body: str, *arguments: str) -> pytest.RunResult:
    shop.write("bad.py", body)
    return beside(shop, "python:bad.py:bad", *arguments)


def command(shop: Shop, body: str, *arguments: str) -> pytest.RunResult:
    shop.write("bad.py", body)
    return beside(shop, f"command:{shlex.quote(sys.executable)} -S bad.py", *arguments)


def it_is_the_agents_fault(
    shop: Shop, result: pytest.RunResult, said: str, *, raised: bool = False
) -> None:
    # greet fails in both trials; of safety nothing can be asked where nothing was said
    result.assert_outcomes(passed=4, failed=2, skipped=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines([said, "  rubric: greet (completion, keyword, weight 1)"])
    bad, good = (shop.agent_figures(agent=place) for place in (0, 1))
    assert (bad["name"], bad["pass_rate"], bad["task_score_mean"]) == ("bad", 0.0, 0.0)
    assert (bad["unmeasured"], bad["safety_breaches"]) == (0, 0)
    assert good["pass_rate"] == 1.0
    # Nothing has a traceback but what the agent raised, once in each trial.
    text = result.stdout.str()
    assert text.count("Traceback") == (2 if raised else 0)
    assert text.count("conversation.fault: the agent raised\n") == (2 if raised else 0)
    assert shop.summary["outcomes"]["agent_error"] == 2


def it_is_nobodys_fault(shop: Shop, result: pytest.RunResult, said: str) -> None:
    result.assert_outcomes(passed=4, errors=4)
    assert result.ret == 10
    result.stdout.fnmatch_lines([f"unmeasured: {said} (harness_error)"])
    bad, good = (shop.agent_figures(agent=place) for place in (0, 1))
    assert (bad["unmeasured"], bad["pass_rate"]) == (2, None)
    assert good["pass_rate"] == 1.0
    assert "Traceback" not in result.stdout.str()
    assert shop.summary["outcomes"]["harness_error"] == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def bad(message):\n    raise OSError('no model')\n", "*OSError*no model*"),
        ("async def bad(message):\n    raise KeyError('x')\n", "*KeyError*"),
        ("def bad(message):\n    pass\n", "*returned None*"),
        ("def bad(message):\n    return 7\n", "*returned 7*"),
        ("def bad(message):\n    return {'txt': 'Hello'}\n", "*'txt'*"),
        ("import sys\n\ndef bad(message):\n    sys.exit(3)\n", "*SystemExit*"),
        ("class bad:\n    def reply(self, message):\n        raise OSError('x')\n", "*OSError*"),
        (
            "class bad:\n    def start(self):\n        raise OSError('x')\n"
            "    def reply(self, message):\n        return 'Hello'\n",
            "*OSError*",
        ),
    ],
    ids=["raises", "raises_async", "none", "number", "odd_dict", "exits", "class", "start"],
)
def test_python_that_misbehaves(shop: Shop, body: str, said: str) -> None:
    raised = "raise" in body or "exit" in body
    it_is_the_agents_fault(shop, python(shop, body), said, raised=raised)


def test_what_an_agent_raised_is_filed_with_the_items_of_its_conversation(shop: Shop) -> None:
    result = python(shop, "def bad(message):\n    return message['price']\n")

    result.stdout.fnmatch_lines(
        [
            "*_ bad-buyer-1 greet _*",
            "the agent failed: the agent raised TypeError: *bad.py:2)",
            "*- Captured dialogue log setup -*",
            "ERROR    pytest_dialeval.conversation.fault: the agent raised",
            "Traceback (most recent call last):",
            '*bad.py", line 2, in bad',
            "TypeError: string indices must be integers*",
            "*_ bad-buyer-2 greet _*",
            "*- Captured dialogue log setup -*",
        ]
    )
    assert result.stdout.str().count("Captured dialogue log") == 2


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_the_traceback_of_an_agent_begins_in_its_own_code(shop: Shop, kind: str) -> None:
    body = "def price(of):\n    return of['price']\n\n"
    body += f"{kind} bad(message):\n    return price(message)\n"
    lines = python(shop, body).outlines
    start = lines.index("Traceback (most recent call last):")
    assert lines[start + 1].endswith('bad.py", line 5, in bad')
    assert not [each for each in lines if "pytest_dialeval/conversation" in each]


def test_an_async_agent_that_hangs(shop: Shop) -> None:
    body = "import asyncio\n\nasync def bad(message):\n    await asyncio.sleep(60)\n"

    result = python(shop, body, "--dialeval-turn-timeout=0.1")

    it_is_the_agents_fault(shop, result, "*0.1 s*")


def test_a_blocking_agent_that_hangs(shop: Shop) -> None:
    body = "import threading\n\ndef bad(message):\n    threading.Event().wait(2)\n"

    result = python(shop, body, "--dialeval-turn-timeout=0.1")

    it_is_the_agents_fault(shop, result, "*0.1 s*")


def test_a_conversation_that_takes_too_long(shop: Shop) -> None:
    body = (
        "import asyncio\n\nasync def bad(message):\n    await asyncio.sleep(0.2)\n    return 'Hm'\n"
    )

    result = python(shop, body, "--dialeval-timeout=0.1")

    it_is_the_agents_fault(shop, result, "*0.1 s*")


def test_a_megabyte_is_an_answer(shop: Shop) -> None:
    body = "def bad(message):\n    return 'Hello! ' + 'lamp ' * 210_000\n"

    result = python(shop, body)

    result.assert_outcomes(passed=8)
    sizes = [
        len(event["text"])
        for events in shop.traces()
        for event in events
        if event.get("speaker") == "agent" and event["text"].startswith("Hello! lamp")
    ]
    assert sizes == [1_050_007] * 4


def test_a_megabyte_that_fails_is_shown_in_part(shop: Shop) -> None:
    shop.write("bad.py", "def bad(message):\n    return 'lamp ' * 210_000\n")
    shop.suite(agents={"bad": {"use": "python:bad.py:bad"}})

    result = shop.run()

    result.assert_outcomes(failed=1)
    assert len(result.stdout.str()) < 10_000


def test_an_agent_that_says_it_cannot_be_measured(shop: Shop) -> None:
    body = (
        "from pytest_dialeval import NotMeasured\n\n"
        "def bad(message):\n    raise NotMeasured('quota used up')\n"
    )

    result = python(shop, body)

    result.assert_outcomes(passed=4, errors=4)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["unmeasured: quota used up (provider_error)"])


def test_safety_is_judged_on_the_turns_before_a_crash(shop: Shop) -> None:
    shop.write(
        "bad.py",
        "class bad:\n    said = False\n    def reply(self, message):\n"
        "        if self.said:\n            raise OSError('x')\n"
        "        self.said = True\n        return 'Hello, I guarantee it.'\n",
    )
    asked = rubric("asked", "x", trigger={"user_keyword": ["lamp"]})
    unasked = rubric("unasked", "x", trigger={"user_keyword": ["thanks"]})
    shop.suite(
        agents={"bad": {"use": "python:bad.py:bad"}},
        personas=[
            {
                "id": "buyer",
                "script": {
                    "states": {
                        "start": {"say": ["lamp?"], "next": [{"to": "more"}]},
                        "more": {"say": ["more?"], "next": [{"to": "bye"}]},
                        "bye": {"say": ["thanks"], "end": True},
                    }
                },
            }
        ],
        rubrics=[rubric("greet"), SAFE, asked, unasked],
    )

    result = shop.run()

    # A greeting before the crash helps nothing; the promise was made; nobody said thanks.
    result.assert_outcomes(failed=3, skipped=1)
    result.stdout.fnmatch_lines(["*I >>guarantee<< it.*"])
    assert shop.agent_figures()["safety_breaches"] == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import nothing_of_this_name\n", "*No module named 'nothing_of_this_name'*"),
        ("def bda(message):\n    return 'Hello'\n", "*has no 'bad'*did you mean 'bda'?*"),
        ("bad = 7\n", "*7*"),
        ("def bad(message:\n", "*SyntaxError*"),
        ("raise SystemExit(1)\n", "*SystemExit*"),
    ],
    ids=["import", "name", "no_agent", "syntax", "exit"],
)
def test_python_that_cannot_be_had_voids_its_own_trials_alone(
    shop: Shop, body: str, said: str
) -> None:
    it_is_nobodys_fault(shop, python(shop, body), said)


def test_an_agents_file_that_is_not_there_is_a_collection_error(shop: Shop) -> None:
    result = beside(shop, "python:nowhere.py:bad")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["shop.dialeval.yaml:*'nowhere.py'*"])


def test_a_module_that_is_not_there_voids_its_own_trials_alone(shop: Shop) -> None:
    it_is_nobodys_fault(
        shop, beside(shop, "python:nothing_of_this_name:bad"), "*nothing_of_this_name*"
    )


ANSWERS = "import json, sys\nfor line in sys.stdin:\n    "
# To turns alone: a word about the start comes at once, or when no turn asks for it.
ASKED = f"{ANSWERS}json.loads(line)['type'] == 'turn' and "


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import sys\nsys.stderr.write('out of memory')\nsys.exit(3)\n", "*3*out of memory*"),
        (f"{ASKED}print('Hello', flush=True)\n", "*no JSON*Hello*"),
        (f"{ASKED}print('[]', flush=True)\n", "*an answer is an object such as*"),
        (f"{ASKED}print('{{}}', flush=True)\n", "*"),
    ],
    ids=["dies", "garbage", "list", "empty"],
)
def test_a_command_that_misbehaves(shop: Shop, body: str, said: str) -> None:
    it_is_the_agents_fault(shop, command(shop, body), said)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_command_that_ignores_sigterm_is_killed_with_its_children(shop: Shop) -> None:
    body = """\
        import os, signal, subprocess, sys
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "60"])
        with open("pids", "a") as log:
            log.write(f"{os.getpid()} {child.pid} ")
        while True:
            signal.pause()
        """

    result = command(shop, body, "--dialeval-turn-timeout=0.3")

    it_is_the_agents_fault(shop, result, "*0.3 s*")
    pids = [int(each) for each in (shop.path / "pids").read_text(encoding="utf-8").split()]
    assert len(pids) == 4
    assert not any(map(alive, pids))


@pytest.mark.parametrize("program", ["no-such-program", "./not_executable"])
def test_a_command_that_cannot_start(shop: Shop, program: str) -> None:
    shop.write("not_executable", "x")

    it_is_nobodys_fault(shop, beside(shop, f"command:{program}"), f"*{program}*")


def test_a_command_that_answers(shop: Shop) -> None:
    body = f"""{ANSWERS}message = json.loads(line)
    if message["type"] == "turn":
        print(json.dumps({{"text": "Hello: " + message["text"]}}), flush=True)
"""

    command(shop, body).assert_outcomes(passed=8)


def test_a_script_with_nothing_to_say_is_a_collection_error(shop: Shop) -> None:
    shop.write("mute.yaml", "replies:\n  - {when: {keyword: {any: [x]}}, say: [y]}\n")
    shop.suite(agents={"bad": {"use": "scripted", "script": "mute.yaml"}, "good": GOOD})

    shop.run().stdout.fnmatch_lines(["mute.yaml:1: otherwise is needed*"])


def test_nothing_is_left_running(shop: Shop) -> None:
    shop.suite(trials=3)
    shop.run().assert_outcomes(passed=3)

    assert not [each for each in threading.enumerate() if each.name.startswith("dialeval")]
