from __future__ import annotations

import pytest

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import ToolCall
from pytest_dialeval.suites.agent_script import AgentScript, ScriptedReply, read_agent_script


@pytest.fixture
def read(write, tmp_path, matchers):
    return lambda text: read_agent_script(
        write("agent.yaml", text), rootdir=tmp_path, matchers=matchers
    )


@pytest.fixture
def refused(read):
    def refused(text: str) -> list[str]:
        with pytest.raises(SuiteError) as caught:
            read(text)
        return str(caught.value).splitlines()

    return refused


def test_every_key_of_a_script(read, tmp_path):
    script = read(
        """\
        opening: [Hello., Good day.]
        replies:
          - when: {keyword: {any: [refund]}}
            state: start
            say: [Which order?, Which one?]
            to: asked
          - when: {keyword: {any: [stop], by: any}}
            state: asked
            hang_up: true
          - say: Let me see.
            state: asked
            tools:
              - {name: lookup, arguments: {id: 7}, result: {found: true}}
              - {name: ping, result: "no", error: true}
              - {name: wait}
        otherwise: "{{not filled}} {name}"
        """
    )
    assert script == AgentScript(
        opening=("Hello.", "Good day."),
        replies=(
            ScriptedReply(
                say=("Which order?", "Which one?"),
                when=MatcherSpec("keyword", {"any": ["refund"], "by": "user"}),
                state="start",
                to="asked",
                line=3,
            ),
            ScriptedReply(
                when=MatcherSpec("keyword", {"any": ["stop"], "by": "any"}),
                state="asked",
                hang_up=True,
                line=7,
            ),
            ScriptedReply(
                say=("Let me see.",),
                state="asked",
                tools=(
                    ToolCall("lookup", {"id": 7}, result='{"found": true}'),
                    ToolCall("ping", {}, result="no", error=True),
                    ToolCall("wait", {}),
                ),
                line=10,
            ),
        ),
        otherwise=("{{not filled}} {name}",),
        path=str(tmp_path / "agent.yaml"),
        sha256=script.sha256,
    )
    assert len(script.sha256) == 64


def test_matchers_listen_to_the_user_at_every_depth(read):
    script = read(
        """\
        replies:
          - when: {all: [{keyword: a}, {not: {keyword: {any: b}}}, {any: [{keyword: {any: c, by: agent}}]}]}
            say: x
        otherwise: y
        """  # noqa: E501
    )
    when = script.replies[0].when
    assert when == MatcherSpec(
        "all",
        {
            "of": [
                {"keyword": {"any": "a", "by": "user"}},
                {"not": {"of": {"keyword": {"any": "b", "by": "user"}}}},
                {"any": {"of": [{"keyword": {"any": "c", "by": "agent"}}]}},
            ]
        },
    )


def test_what_was_filled_in_compiles(read, matchers):
    from pytest_dialeval.matching.compiling import compile_spec
    from pytest_dialeval.matching.view import View
    from pytest_dialeval.records.transcript import Turn

    script = read("replies: [{when: {not: {keyword: hi}}, say: x}]\notherwise: y\n")
    check = compile_spec(script.replies[0].when, matchers)
    assert not check(View((Turn(1, "user", "hi"),))).matched
    assert check(View((Turn(1, "user", "bye"),))).matched


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "replies: [{}]\notherwise: x",
            "1: a reply needs something: say, tools, hang_up, write, delete or run",
        ),
        ("otherwise: []", "1: otherwise must not be empty"),
        ("otherwise: ' '", "1: otherwise[0] must be text that is not blank, not ' '"),
        ("opening: hi", "1: otherwise is needed: what the agent says where no reply holds"),
        (
            "replies:\n- {say: a, state: askd}\n- {say: b, to: asked}",
            "2: no reply leads to state 'askd': add `to:` to one; did you mean 'asked'?",
        ),
        (
            "replies:\n- {say: a}\n- {say: b}",
            "3: never said: the reply on line 2 always answers before it",
        ),
        (
            "replies:\n- {say: a, when: {judge: x}}\notherwise: y",
            "2: judge can't be used here: give a matcher; only a rubric is judged",
        ),
        (
            "replies:\n- {say: a, when: {user_turn: 3}}\notherwise: y",
            "2: unknown matcher 'user_turn'",
        ),
        (
            "replies:\n- {say: a, when: keyword}\notherwise: y",
            "2: replies[0].when must be one matcher with its parameters, such as keyword:",
        ),
        (
            "replies:\n- {say: a, tool: x}\notherwise: y",
            "2: unknown key 'tool' of a reply; did you mean 'tools'?",
        ),
        (
            "replies:\n- tools: [{arguments: {}}]\notherwise: y",
            "2: a tool call needs 'name' (the tool's name)",
        ),
        (
            "replies:\n- {write: {../x: a}}",
            "2: '../x' must be a path inside the task's folder, such as src/a.py",
        ),
        ("replies:\n- {delete: /x}", "2: replies[0].delete must be a list, not '/x'"),
        ("replies:\n- {delete: [/x]}", "2: '/x' must be a path inside the task's folder"),
        (
            "replies:\n- {run: make; make check}",
            "2: 'make; make check' is run without a shell, to which alone ';' means more: "
            "write sh -c '...', which is one",
        ),
        ("replies:\n- {run: []}", "2: replies[0].run must not be empty"),
        ("otherwise: x\nanswers: y", "2: unknown key 'answers' of an agent script (keys:"),
        ("- x", "1: an agent script must be a mapping (opening, replies, otherwise), not a list"),
    ],
)
def test_wrong_scripts(refused, text, message):
    assert [each for each in refused(text) if each.startswith(f"agent.yaml:{message}")]


def test_a_reply_that_always_answers_needs_no_otherwise(read):
    assert read("replies: [{say: hm}]\n").otherwise == ()
