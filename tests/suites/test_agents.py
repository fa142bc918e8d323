# ruff: noqa: E501 - tables of messages are easier to read unwrapped
from __future__ import annotations

import pytest

from pytest_dialeval.suites.agent_script import AgentScript, ScriptedReply

SUITE = """\
dialeval: 1
task: {id: t, opening: user}
agents:
  a: %s
personas: [{id: p, script: {states: {start: {say: hi, end: true}}}}]
rubrics: [{id: r, dimension: safety, not: {keyword: bad}}]
"""


def test_the_kinds_of_agents(load, write, tmp_path):
    write("agents/a.yaml", "otherwise: Hm?\n")
    write("bots/agent.py", "")
    write("t.jsonl", "")
    suite = load(
        """\
        dialeval: 1
        task: {id: t}
        agents:
          scripted: {use: scripted, script: agents/a.yaml, version: "2"}
          module: {use: "python:shop.agents:Agent.make", concurrency: 2}
          file: python:bots/agent.py:agent
          command: {use: "command:python 'my agent.py' --fast", concurrency: 3}
          replay: {use: replay, path: t.jsonl}
          replay2: {use: replay, path: t.jsonl, format: tau2}
          hooked: {use: shop}
          hooked2: shop
        personas: [{id: p, script: {states: {start: {say: hi, end: true}}}}]
        """
    )
    agents = suite.agents
    script = agents["scripted"].options["script"]
    assert script == AgentScript(
        otherwise=("Hm?",), path=str(tmp_path / "agents/a.yaml"), sha256=script.sha256
    )
    assert suite.files["agents/a.yaml"] == script.sha256
    assert agents["scripted"].version == "2"
    assert (agents["module"].use, agents["module"].concurrency) == (
        "python:shop.agents:Agent.make",
        2,
    )
    assert agents["file"].use == "python:bots/agent.py:agent"
    assert agents["command"].use == "command:python 'my agent.py' --fast"
    assert agents["command"].concurrency == 3
    assert agents["replay"].options == {"path": str(tmp_path / "t.jsonl"), "format": "dialeval"}
    assert agents["replay2"].options["format"] == "tau2"
    assert agents["hooked"].use == agents["hooked2"].use == "shop"
    assert {each.folder for each in agents.values()} == {str(tmp_path)}
    assert [each.line for each in agents.values()] == [4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("3", "an agent must be a mapping (use, version), not 3"),
        ("{}", "an agent needs 'use' (scripted, replay, python:..., command:..., openai:... or another endpoint's, http://..., https://..., or a hook's name)"),
        ("{use: 3}", "use must be text that is not blank, not 3; quote it: '3'"),
        ("{use: scripted}", "a scripted agent needs 'script' (its file, from the suite's folder)"),
        ("{use: scriptd, script: x}", "unknown kind of agent 'scriptd'; did you mean 'scripted'? (allowed: scripted, python:module:object,"),
        ("{use: 'pyhton:a:b'}", "unknown kind of agent 'pyhton:a:b'; did you mean 'python'? (allowed:"),
        ("{use: replay}", "a replay agent needs 'path' (the transcript, from the suite's folder)"),
        ("{use: replay, path: nope}", "'nope' is not there; paths are taken from"),
        ("{use: replay, path: s.dialeval.yaml, format: tau}", "format must be one of 'dialeval', 'harbor', 'openai', 'tau-bench', 'tau2', not 'tau'; did you mean 'tau2'?"),
        ("{use: scripted, script: nope.yaml}", "'nope.yaml' is not there; paths are taken from"),
        ("{use: scripted, script: ../x.yaml}", "'../x.yaml' leaves the root folder of this run"),
        ("{use: scripted, script: a.yaml, concurrency: 3}", "unknown key 'concurrency' of a scripted agent (keys: use, version, script"),
        ("python:agents", "'python:agents' must be python:module:object or python:file.py:object"),
        ("'python::x'", "'python::x' must be python:module:object or python:file.py:object"),
        ("'python:a:b c'", "'python:a:b c' must be python:module:object or python:file.py:object"),
        ("python:nope.py:x", "there is no file 'nope.py' in the suite's folder or in rootdir"),
        ("python:a-b:x", "'a-b' is neither a module's name nor a file that ends in .py"),
        ("{use: 'python:a:b', speed: 1}", "unknown key 'speed' of a python: agent (keys: use, version, concurrency"),
        ("{use: 'python:a:b', concurrency: 0}", "concurrency must be a whole number of at least 1, not 0"),
        ("'command:'", "command: names no program; write use: command:PROGRAM ARGUMENTS"),
        (
            "'command:cd x && ./agent'",
            "'cd x && ./agent' is run without a shell, to which alone '&&' means more: "
            "write sh -c '...', which is one",
        ),
        ("\"command:a 'b\"", "\"command:a 'b\" can't be split into words (No closing quotation)"),
        ("'openai:'", "'openai:' names no model"),
        ("opnai:gpt-5", "unknown kind of agent 'opnai:gpt-5'; did you mean 'openai'? (allowed: scripted"),
        ("openai:m@http://", "what follows @ must be a URL such as http://localhost:8000/chat, not 'http://'"),
        ("openai:m@localhost:8000/v1", "'openai:m@localhost:8000/v1': what follows @ is an address without http://; did you mean 'openai:m@http://localhost:8000/v1'?"),
        ("{use: 'openai:m', base_url: localhost}", "base_url must be a URL such as http://localhost:8000/chat, not 'localhost'"),
        ("{use: 'openai:m', base_url: 'http://a:b@x/v1'}", "base_url must hold no user and password: give them in a header"),
        ("{use: 'openai:m', base_url: 'http://x/v1?a=b'}", "base_url must hold no query or fragment"),
        ("{use: 'openai:m', api_key_env: sk-123}", "api_key_env must be the name of an environment variable, e.g. OPENAI_API_KEY, not a key"),
        ("{use: 'openai:m', api_key: sk-123}", "unknown key 'api_key' of an agent that a model plays; did you mean 'api_key_env'? (keys: use, version"),
        ("{use: 'openai:m', temperature: 3}", "temperature must be a number from 0 to 2, not 3"),
        ("{use: 'openai:m', temperature: '1'}", "temperature must be a number from 0 to 2, not '1'; write it without quotes"),
        ("{use: 'openai:m', seed: 1.5}", "seed must be a whole number, not 1.5"),
        ("{use: 'openai:m', max_tokens: 0}", "max_tokens must be a whole number of at least 1, not 0"),
        ("{use: 'openai:m', tools: find}", "tools must be a list, not 'find'; write [find]"),
        ("{use: 'openai:m', tools: [find]}", "'find' must be python:file.py:function or python:module:function"),
        ("{use: 'openai:m', tools: ['python:nope.py:f']}", "there is no file 'nope.py' in the suite's folder or in rootdir"),
        ("{use: 'openai:m', prompt: 'Costs {fee}.'}", "no variable 'fee' in task.variables (there: none)"),
        ("{use: 'openai:m', prompt: 3}", "prompt must be text, not 3; quote it: '3'"),
        ("'http:'", "use must be a URL such as http://localhost:8000/chat, not 'http:'"),
        ("'https://a:secret@x/'", "use must hold no user and password: give them in a header, from a variable"),
        ("{use: 'http://x/', timeout: 3}", "unknown key 'timeout' of an http agent (keys: use, version, headers, history, prompt, concurrency)"),
        ("{use: 'http://x/', history: some}", "history must be one of 'all', 'last', not 'some'"),
        ("{use: 'http://x/', headers: {Authorization: Bearer sk-1}}", "header Authorization: a key doesn't belong in a file; name its variable, e.g. ${MY_KEY}"),
        ("{use: 'http://x/', headers: {X-Api-Key: sk-1}}", "header X-Api-Key: a key doesn't belong in a file"),
        ("{use: 'http://x/', headers: {X-A: '${no-name}'}}", "header X-A: ${no-name} names no variable; write ${NAME}"),
        ("{use: 'http://x/', headers: {'X A': b}}", "'X A' can't be the name of a header: it is of letters, digits and -"),
        ("{use: 'http://x/', headers: {Host: b}}", "header Host is set by the plugin itself: remove it"),
        ("{use: 'http://x/', headers: {X-A: ä}}", "header X-A must be of plain ASCII characters"),
        ("{use: 'http://x/', headers: {X-A: 1}}", "headers.X-A must be text that is not blank, not 1; quote it: '1'"),
        ("'two words'", "unknown kind of agent 'two words' (allowed:"),
        ("{use: shop, script: x}", "unknown key 'script' of an agent of the hook pytest_dialeval_agents (keys: use, version, concurrency"),
    ],
)  # fmt: skip
def test_wrong_agents(problems, written, message):
    assert any(
        each.startswith(f"s.dialeval.yaml:4: {message}") for each in problems(SUITE % written)
    )


def test_a_python_file_may_lie_in_the_root_folder(write, tmp_path, matchers):
    from pytest_dialeval.suites.load import load_suite

    write("agent.py", "")
    path = write("deep/s.dialeval.yaml", SUITE % "python:agent.py:x")
    suite = load_suite(path, rootdir=tmp_path, matchers=matchers)
    assert suite.agents["a"].folder == str(tmp_path / "deep")


def test_mistakes_in_a_script_are_mistakes_of_the_suite(problems, write):
    write("a.yaml", "replies:\n  - {when: {keywrd: x}, say: hi}\notherwise: [1]\n")
    found = problems(SUITE % "{use: scripted, script: a.yaml}")
    assert found[0].startswith("a.yaml:2: unknown matcher 'keywrd'; did you mean 'keyword'?")
    assert found[1:] == [
        "a.yaml:3: otherwise[0] must be text that is not blank, not 1; quote it: '1'"
    ]


def test_one_script_for_two_agents_is_read_once(problems, load, write):
    write("a.yaml", "replies: [{say: hi, state: nope}]\notherwise: x\n")
    agent = "{use: scripted, script: a.yaml}"
    text = SUITE.replace("  a: %s", f"  a: {agent}\n  b: {agent}")
    assert problems(text) == ["a.yaml:1: no reply leads to state 'nope': add `to:` to one"]


def test_an_agent_that_opens_needs_first_lines(problems, load, write):
    write("a.yaml", "otherwise: x\n")
    text = SUITE.replace("user", "agent") % "{use: scripted, script: a.yaml}"
    assert problems(text) == [
        "s.dialeval.yaml:4: the agent opens this task, but its script has no `opening`: "
        "add first lines"
    ]
    write("a.yaml", "opening: [hello, hi]\notherwise: x\n")
    script = load(text).agents["a"].options["script"]
    assert script.opening == ("hello", "hi")


def test_agents_that_run_must_be_declared(problems, load):
    text = SUITE % "shop" + "run: [b, a, a]\n"
    assert problems(text) == [
        "s.dialeval.yaml:7: agent 'a' is there twice: remove one",
        "s.dialeval.yaml:7: no agent 'b' (there: a)",
    ]
    # Fixtures and hooks may bring agents to a suite that declares none.
    bare = SUITE.replace("agents:\n  a: %s\n", "run: [shop]\n")
    assert load(bare).run == ("shop",)


def test_a_reply_keeps_its_line(load, write):
    write("a.yaml", "replies:\n  - say: hi\n")
    script = load(SUITE % "{use: scripted, script: a.yaml}").agents["a"].options["script"]
    assert script.replies == (ScriptedReply(("hi",), line=2),)


def test_agents_over_the_network(load, write, tmp_path):
    write("shop.py", "")
    suite = load(
        """\
        dialeval: 1
        task: {id: t, prompt: "Costs {fee}.", variables: {fee: 3.50}}
        agents:
          plain: openai:gpt-5
          slash: {use: deepseek/chat, version: 2}
          server: openai:qwen:7b@http://localhost:1/v1
          whole:
            use: vllm:qwen
            prompt: "Mine costs {fee}."
            tools: ["python:shop.py:find", "python:shop.desk:Desk.find"]
            temperature: 0
            seed: 7
            max_tokens: 99
            base_url: http://gpu:8000/v1
            api_key_env: GPU_KEY
          own: {use: "ollama:m", prompt: null}
          http: https://x.example/chat?v=2
          http2:
            use: http://localhost:8000
            headers: {Authorization: "Bearer ${KEY}", X-Team: red}
            history: last
            concurrency: 2
            prompt: null
        personas: [{id: p, script: {states: {start: {say: hi, end: true}}}}]
        """
    )
    agents = suite.agents
    assert {name: agents[name].options for name in ("plain", "slash", "server")} == {
        "plain": {},
        "slash": {},
        "server": {},
    }
    assert agents["slash"].version == "2"
    assert agents["whole"].options == {
        "prompt": "Mine costs 3.50.",
        "tools": ["python:shop.py:find", "python:shop.desk:Desk.find"],
        "temperature": 0,
        "seed": 7,
        "max_tokens": 99,
        "base_url": "http://gpu:8000/v1",
        "api_key_env": "GPU_KEY",
    }
    assert agents["own"].options == {"prompt": None}
    assert agents["http"].options == {"headers": {}, "history": "all"}
    assert agents["http2"].options == {
        "headers": {"Authorization": "Bearer ${KEY}", "X-Team": "red"},
        "history": "last",
        "prompt": None,
    }
    assert agents["http2"].concurrency == 2


def test_a_model_that_opens_needs_a_prompt(problems, load):
    opens = SUITE.replace("user", "agent")
    text = "s.dialeval.yaml:4: the agent opens this task, but its model has no prompt: add `prompt`"
    for mute in ("openai:m", "{use: 'openai:m', prompt: ' '}"):
        assert problems(opens % mute) == [text]
    for able in ("{use: 'openai:m', prompt: Hello}", "http://x.example/"):
        assert load(opens % able).agents
