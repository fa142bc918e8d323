"""A mistake is said once: what only follows from it is not said, and a lost key is shown its home."""

# ruff: noqa: E501 - tables of messages are easier to read unwrapped
from __future__ import annotations

import pytest

TASK = "dialeval: 1\ntask: {id: t}\n"
PERSONA = "personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]\n"
RUBRIC = "rubrics: [{id: r, dimension: completion, keyword: x}]\n"


def script(states: str, more: str = "") -> str:
    return f"{TASK}personas: [{{id: p, script: {{states: {{{states}}}}}{more}}}]\n{RUBRIC}"


def rubric(written: str) -> str:
    return f"{TASK}{PERSONA}rubrics: [{{{written}}}]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # a misspelt key is not missing too
        (rubric("id: r, dimensoin: safety, keyword: x"), "4: unknown key 'dimensoin' of a rubric; did you mean 'dimension'? (keys: id, dimension, "),
        (rubric("idd: r, dimension: safety, keyword: x"), "4: unknown key 'idd' of a rubric; did you mean 'id'?"),
        (rubric("id: r, dimension: safety, judge: {critereon: x}"), "4: unknown key 'critereon' of a judge question; did you mean 'criterion'?"),
        (rubric("id: r, dimension: safety, tool_called: {nme: x}"), "4: unknown key 'nme' of tool_called; did you mean 'name'? (keys: name, arguments, "),
        (rubric("id: r, dimension: safety, keywrd: x"), "4: unknown key 'keywrd' of a rubric; did you mean 'keyword'?"),
        (f"{TASK}personas: [{{id: p, scrip: {{}}}}]\n{RUBRIC}", "3: unknown key 'scrip' of a persona; did you mean 'script'?"),
        (script("start: {say: x, next: [{too: end}]}"), "3: unknown key 'too' of a transition; did you mean 'to'? (keys: to, when, weight)"),
        (f"dialeval: 1\ntsk: {{id: t}}\n{PERSONA}{RUBRIC}", "2: unknown key 'tsk' of a suite; did you mean 'task'?"),
        (f"{TASK}persona: []\n{RUBRIC}", "3: unknown key 'persona' of a suite; did you mean 'personas'?"),
        (f"{TASK}includes: [a.yaml]\n{RUBRIC}", "3: unknown key 'includes' of a suite; did you mean 'include'?"),
        ("dialeval: 1\ntask: {id: t, variabels: {a: b}, prompt: '{a}'}\n" + PERSONA + RUBRIC, "2: unknown key 'variabels' of a task; did you mean 'variables'?"),
        # a key at the wrong depth is shown its home
        (f"{TASK}personas: [{{id: p, script: {{states: {{start: {{say: x, end: true}}}}, probes: []}}}}]\n{RUBRIC}", "3: unknown key 'probes' of a script: it is a key of a persona, so move it left (keys: start, covers_flow_nodes, states)"),
        (script("start: {say: x, end: true, states: {}}"), "3: unknown key 'states' of a state: it is a key of a script, so move it left"),
        (script("start: {say: x, end: true}", ", rubrics: []"), "3: unknown key 'rubrics' of a persona: it is a key of a suite, so move it left"),
        (f"{TASK}personas: [{{id: p, states: {{start: {{say: x, end: true}}}}}}]\n{RUBRIC}", "3: unknown key 'states' of a persona: it is a key of a script, so move it below 'script'"),
        (f"dialeval: 1\ntask: {{personas: [], id: t}}\n{RUBRIC}", "2: unknown key 'personas' of a task: it is a key of a suite, so move it left"),
        (f"{TASK}variables: {{a: b}}\n" + PERSONA.replace("say: x", "say: '{a}'") + RUBRIC, "3: unknown key 'variables' of a suite: it is a key of a task, so move it below 'task'"),
        (rubric("id: r, dimension: safety, keyword: {any: x, severity: soft}"), "4: unknown key 'severity' of keyword: it is a key of a rubric, so move it left (keys: any, all, none, by, turns)"),
        (rubric("id: r, dimension: safety, not: {keyword: {any: x, weight: 2}}"), "4: unknown key 'weight' of keyword: it is a key of a rubric, so move it left"),
        (rubric("id: r, dimension: safety, judge: {criterion: x, weight: 2}"), "4: unknown key 'weight' of a judge question: it is a key of a rubric, so move it left"),
        (rubric("id: r, trigger: {probe: a, dimension: safety}, keyword: x"), "4: unknown key 'dimension' of a trigger: it is a key of a rubric, so move it left"),
        (rubric("id: r, dimension: safety, trigger: {when: {keyword: {any: x, then: all}}}, keyword: x"), "4: unknown key 'then' of keyword: it is a key of a trigger, so move it left"),
        (script("start: {say: x, next: [{to: end, when: {keyword: {any: x, weight: 2}}}]}"), "3: unknown key 'weight' of keyword: it is a key of a transition, so move it left"),
        (f"{TASK}agents: {{a: {{use: 'python:a:b', trials: 3}}}}\n{PERSONA}{RUBRIC}", "3: unknown key 'trials' of a python: agent: it is a key of a suite, so move it left"),
        (f"{TASK}{PERSONA}{RUBRIC}scoring: {{completion: 1}}\n", "5: unknown key 'completion' of scoring: it is a key of scoring weights, so move it below 'weights'"),
        # a state that a misspelt or unknown name may mean is not called unreachable
        (script("start: {say: x, next: [{to: by}]}, bye: {say: x, end: true}"), "3: no state 'by'; did you mean 'bye'? (there: start, bye, end)"),
        (script("start: {say: x, next: [{to: farewell}]}, bye: {say: x, end: true}"), "3: no state 'farewell' (there: start, bye, end)"),
        (script("begin: {say: x, next: [{to: bye}]}, bye: {say: x, end: true}"), "3: no state 'start' to start in (there: begin, bye): rename the first one `start`, or write `start: begin` in the script"),
        # what a file that is not there may hold is not called missing
        (f"{TASK}include: [nope.yaml]\n{RUBRIC}", "3: 'nope.yaml' is not there; "),
        (f"{TASK}include: [nope.yaml]\n{PERSONA}" + RUBRIC.replace("x}", "x, trigger: {probe: q}}"), "3: 'nope.yaml' is not there; "),
        (f"{TASK}transcripts: [{{format: dialeval, path: nope.jsonl}}]\n" + RUBRIC.replace("x}", "x, trigger: {probe: q}}"), "3: 'nope.jsonl' is not there; "),
    ],
)  # fmt: skip
def test_a_mistake_is_said_once(problems, text, said):
    found = problems(text)
    assert len(found) == 1, found
    assert found[0].startswith(f"s.dialeval.yaml:{said}")


def test_what_does_not_follow_is_still_said(problems):
    found = problems(
        script(
            "start: {say: x, next: [{to: by}]}, bye: {say: x, end: true}, lost: {say: x, end: true}"
        )
    )
    assert [each.split("; ")[0].split(": ", 1)[1] for each in found] == [
        "no state 'by'",
        "state 'lost' is unreachable from 'start': add a transition to it",
    ]
    found = problems(rubric("dimensoin: x, keyword: {an: x}"))
    assert len(found) == 3  # the id is missing whatever the others mean


@pytest.mark.parametrize(
    ("name", "there", "said"),
    [
        ("chat.json", ["chats.json", "notes.md"], "'chat.json' is not there; did you mean 'chats.json'?"),
        ("logs/monday.json", ["logs/Monday.json"], "'logs/monday.json' is not there; did you mean 'Monday.json'?"),
        ("chat.json", ["other.md"], "'chat.json' is not there; paths are taken from"),
        ("lost/chat.json", ["chats.json"], "'lost/chat.json' is not there; paths are taken from"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_there_is_looked_for_by_likeness(problems, write, name, there, said):
    for each in there:
        write(each, "")
    (found,) = problems(f"{TASK}transcripts: [{{format: openai, path: {name}}}]\n{RUBRIC}")
    assert said in found


def test_a_file_of_an_agent_is_looked_for_too(problems, write):
    write("agents.py", "")
    (found,) = problems(f"{TASK}agents: {{a: 'python:agent.py:x'}}\n{PERSONA}{RUBRIC}")
    assert found.endswith("in the suite's folder or in rootdir; did you mean 'agents.py'?")
    write("baseline.yaml", "")
    (found,) = problems(
        f"{TASK}agents: {{a: {{use: scripted, script: base.yaml}}}}\n{PERSONA}{RUBRIC}"
    )
    assert "did you mean 'baseline.yaml'?" in found
