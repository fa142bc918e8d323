"""docs/reference/suite.md and lint.md say exactly what the code does."""

# ruff: noqa: E501 - suites are easier to read unwrapped
from __future__ import annotations

import re
from os import mkfifo
from pathlib import Path

import pytest
import yaml

from pytest_dialeval.suites.agent_form import AgentForm, AgentScriptForm, ReplyForm, ToolForm
from pytest_dialeval.suites.agent_script import read_agent_script
from pytest_dialeval.suites.form import Form
from pytest_dialeval.suites.load import load_suite
from pytest_dialeval.suites.persona_form import (
    NoiseForm,
    PersonaForm,
    ProbeForm,
    ScriptForm,
    StateForm,
    TransitionForm,
)
from pytest_dialeval.suites.rounds_form import AnchorForm, BehaviourForm, ProfileForm, RoundsForm
from pytest_dialeval.suites.rubric_form import JudgeForm, RubricForm, TriggerForm
from pytest_dialeval.suites.suite_form import (
    CompareForm,
    GatesForm,
    LimitsForm,
    PartForm,
    ScoringForm,
    SuiteForm,
    TranscriptForm,
    VotesForm,
)
from pytest_dialeval.suites.task_form import FlowForm, FlowNodeForm, TaskForm
from pytest_dialeval.suites.work_form import VerifierForm, WorkspaceForm

PAGE = (Path(__file__).parents[2] / "docs/reference/suite.md").read_text(encoding="utf-8")
HEAD = "\n| key | value | default | meaning |"
FORMS = [
    SuiteForm, TaskForm, FlowForm, FlowNodeForm, RoundsForm, ProfileForm, BehaviourForm, AnchorForm,
    WorkspaceForm, VerifierForm,
    AgentForm, AgentScriptForm, ReplyForm, ToolForm,
    PersonaForm, ScriptForm, StateForm, TransitionForm, ProbeForm, NoiseForm, RubricForm, JudgeForm,
    TriggerForm, TranscriptForm, PartForm, LimitsForm, ScoringForm, GatesForm, CompareForm,
    VotesForm,
]  # fmt: skip


def tables() -> list[dict[str, str]]:
    """Key -> default of every table with the usual head, in the page's order."""
    found = []
    for table in PAGE.split(HEAD)[1:]:
        rows = [re.split(r"\s+\|\s+", row.strip("| ")) for row in table.split("\n")[2:]]
        ended = next(index for index, row in enumerate(rows) if len(row) < 4)
        found.append({key.strip("`"): default for key, _, default, *_ in rows[:ended]})
    return found


def default(form: type[Form], key: str) -> str:
    field = next(each for name, each in form.model_fields.items() if key in (name, each.alias))
    if field.is_required():
        return "required"
    value = field.default
    if value is None:
        return "none"
    if key == "weights":
        return "`{completion: 0.8, robustness: 0.2}`"
    if isinstance(value, Form):
        return "`{}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value in ("", "1"):
        return f'`"{value}"`'
    return f"`{value}`"


@pytest.mark.parametrize("place", range(len(FORMS)), ids=[each.__name__ for each in FORMS])
def test_tables_list_every_key_with_its_default(place):
    form = FORMS[place]
    assert tables()[place] == {key: default(form, key) for key in form.keys()}


def test_there_is_no_further_table():
    assert len(tables()) == len(FORMS)


BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
FILES = {block[2:].split("\n")[0]: block for block in BLOCKS if block.startswith("# ")}
EXAMPLES = [block for block in BLOCKS if not block.startswith("# ")]
BASE = {
    "dialeval": 1,
    "task": {"id": "t", "variables": {"course": "Yoga"}},
    "personas": [{"id": "p", "script": {"states": {"start": {"say": "Hi.", "end": True}}}}],
    "rubrics": [{"id": "explains", "dimension": "safety", "not": {"keyword": {"any": ["x"]}}}],
}


@pytest.mark.parametrize("block", EXAMPLES)
def test_examples_load(block, write, tmp_path, matchers):
    for name, text in FILES.items():
        write(name, text)
    write("recordings/yesterday.jsonl", "")
    write("recordings/results.json", "{}")
    write("repo/calc.py", "")
    write("hidden/tests/test_calc.py", "")
    given = yaml.safe_load(block)
    base = {} if "dialeval" in given else dict(BASE)
    if "transcripts" in given:
        del base["personas"]
    path = write("s.dialeval.yaml", yaml.safe_dump({**base, **given}, allow_unicode=True))
    assert load_suite(path, rootdir=tmp_path, matchers=matchers)


def test_the_example_of_an_agent_script(write, tmp_path, matchers):
    path = write("a.yaml", FILES["agents/baseline.yaml"])
    script = read_agent_script(path, rootdir=tmp_path, matchers=matchers)
    assert len(script.replies) == 3


LINT = (Path(__file__).parents[2] / "docs/reference/lint.md").read_text(encoding="utf-8")


SAID = [
    """\
dialeval: 1
task:
  id: t
  opening: agent
  max_rounds: 4
  variables: {empty: ""}
  flow:
    nodes: [{id: greet, rubric: nope}, {id: greet}]
    edges: [[greet, bye]]
agents: {a: {use: scripted, script: agent.yaml}}
run: [a, a, b]
personas:
  - id: p
    script:
      covers_flow_nodes: [gret]
      states:
        start: {say: "{empty}", next: [{to: a}, {to: b, when: {keyword: x}, weight: 2}, {to: strt}]}
        a: {say: x, next: [{to: a, when: {user_turn: 9}}]}
        b: {say: x, end: true, next: [{to: b}]}
        d: {say: x, end: true}
        e: {goal: x, end: true}
        end: {say: x}
    probes:
      - {id: q, at_user_turn: 9, say: x}
      - {id: q, at_user_turn: 2, say: x}
      - {id: r, say: x}
      - {id: s, at_user_turn: 2, say: x}
    noise: {rate: 0.2}
  - {id: p, script: {start: begin, states: {start: {say: a, end: true}}}}
rubrics:
  - {id: a, dimension: completion, keyword: {any: a, turns: first}, trigger: {probe: q}, severity: soft}
  - {id: b, dimension: safety, share: {}, severity: soft, min: 0}
  - id: c
    dimension: safety
    judge: {criterion: x, levels: [{name: a, score: 0, example: x}, {name: b, score: 1, example: x}]}
    severity: soft
  - {id: score, dimension: completion, keyword: x, trigger: {state: bb}, severity: soft}
  - {id: e, dimension: completion, keyword: x, trigger: {probe: Q}, severity: soft}
""",
    """\
dialeval: 1
task: {id: t}
transcripts: [{format: tau2, path: agent.yaml}]
rubrics: [{id: a, dimension: completion, keyword: x, trigger: {probe: q}}]
scoring: {pass_on: b, weights: {completion: 0, robustness: 0}}
""",
    "dialeval: 1\ntask: {id: t}\n",
    """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
scoring: {ux: true}
rubrics:
  - {id: ux.testing, dimension: safety, not: {keyword: x}}
  - id: c
    dimension: completion
    judge: {criterion: x, levels: [{name: a, score: 0, example: x}, {name: A, score: null, example: x}, {name: cannot_tell, score: null, example: x}]}
""",
    """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
scoring: {}
""",
    """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
transcripts: [{format: tau2, path: agent.yaml}]
""",
    """\
dialeval: 1
task: {id: t, opening: agent}
agents:
  a: openai:m
  b: {use: 'http:', headers: {X-Key: k, X: '${a b}'}}
  c: {use: 'openai:m', api_key_env: sk-1}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
""",
    """\
dialeval: 1
task:
  id: t
  opening: agent
  max_rounds: 4
  variables: {empty: ""}
  rounds:
    request: "{empty}"
    profile: x
    behaviours: [{id: complaint, goal: x}]
    anchor_followups: {2: {instruction: x}, 02: {instruction: x}, 9: {instruction: x}}
personas: [{id: p, script: {states: {}}}]
""",
    """\
dialeval: 1
task:
  id: t
  language: fr
  opening: agent
  rounds:
    request: x
    profile: {id: p, weights: {complaint: 1, x: 1}}
    behaviours: [{id: late, goal: x}]
rubrics: [{id: a, dimension: completion, keyword: x, trigger: {state: y}}]
""",
    "dialeval: 1\ntask: {id: t, max_rounds: 2000, rounds: {request: x}}\n",
    """\
dialeval: 1
task:
  id: t
  language: fr
  opening: agent
  rounds:
    request: x
    profile: {id: p, weights: {complaint: 1}}
rubrics: [{id: a, dimension: completion, keyword: x, trigger: {state: y}}]
""",
]
NOTED = [
    """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
rubrics:
  - {id: a, dimension: completion, judge: {criterion: x, levels: [{name: a, score: 0, example: x}, {name: b, score: 0.7, example: x}]}}
  - {id: b, dimension: completion, min: 0.5, judge: {criterion: x, levels: [{name: a, score: 0.5, example: x}, {name: b, score: 0.7, example: x}]}}
""",
    """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: [Hello, my order is late], end: true}}}}]
""",
    """\
dialeval: 1
task: {id: t}
personas:
  - {id: p, script: {states: {start: {say: x, end: true}}}, probes: [{id: q, on_state: start, say: x}]}
  - {id: r, script: {states: {start: {say: x, end: true}}}}
  - {id: s, script: {states: {start: {say: x, end: true}}}}
rubrics: [{id: a, dimension: completion, keyword: x, trigger: {probe: q}}]
scoring: {}
trials: 2
gates: {pass_hat_k: {k: 3, min: 1}}
""",
    """\
dialeval: 1
task: {id: t}
agents: {a: "command:python agent.py"}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
rubrics: [{id: a, dimension: completion, keyword: {any: x, turns: next}}]
""",
    """\
dialeval: 1
task: {id: t}
personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]
""",
]
SCRIPT = "replies:\n  - {state: lost, say: a}\n  - {say: b}\n  - {say: c}\n  - {}\n"


# The plugin says it; tests/plugin/test_bad_suites.py holds it to that.
OF_COLLECTION = "suites end in .dialeval.yaml; rename the file"


def as_pattern(message: str) -> str:
    """A message of the page with its examples of names and numbers left open."""
    pattern = re.escape(message)
    for example in (r"'(?:\w|\\ )+'", r"\b\d+\b", r"\\\.\\\.\\\.", r"\bcompletion\b"):
        pattern = re.sub(example, ".+", pattern)
    return pattern


def about_work(problems, notes, write) -> list[str]:
    """What is said of suites whose agents work in a folder."""
    folder = write("repo/a.py", "").parent
    write("repo/hidden/b.py", "")
    write("agent.yaml", "replies: [{write: {a.py: x}, delete: [../x]}]\n")
    base = (
        "dialeval: 1\ntask: {id: t, WORK}\nagents: {a: {use: scripted, script: agent.yaml}}\n"
        "personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]\n"
        "rubrics: [{id: r, dimension: completion, verifier: first}, "
        "{id: s, dimension: completion, all: [{no_regression: }]}]\n"
    )
    verifier = "workspace: repo, verifier: {command: x, when: last"
    said = []
    for work in (
        "verifier: x",
        "workspace: .",
        "workspace: {folder: repo, max_mb: 0.000001}",
        f"{verifier}, result: ../x, hidden: repo/hidden}}",
        f"{verifier}, rounds: {{13: x}}}}",
        f"{verifier.replace('last', 'first')}, rounds: {{3: x}}}}",
        f"{verifier}}}",
        "workspace: repo, verifier: {command: a && b, when: first, rounds: {2: x, 99: x}}",
    ):
        write("repo/a.py", "x = 1\n")
        said += problems(base.replace("WORK", work))
    (folder / "out").symlink_to("..")
    said += problems(base.replace("WORK", "workspace: repo"))
    (folder / "out").unlink()
    mkfifo(folder / "pipe")
    said += problems(base.replace("WORK", "workspace: repo"))
    (folder / "pipe").unlink()
    write("repo/.git/config", "[core]\nworktree = /x\n")
    said += problems(base.replace("WORK", "workspace: repo"))
    write("repo/.git/config", "")
    write("agent.yaml", "replies: [{write: {a.py: x}}]\n")
    said += problems(base.replace(", WORK", ""))
    only = base.replace("WORK", "workspace: repo, verifier: python x.py").split("rubrics:")[0]
    return said + notes(only + "rubrics: [{id: r, dimension: completion, keyword: x}]\n")


def test_the_lint_page_quotes_what_is_said(problems, notes, load, write):
    write("agent.yaml", SCRIPT)
    said = [line for text in SAID for line in problems(text)]
    said += [line for text in NOTED for line in notes(text)]
    write("agent.yaml", "replies: [{say: a, when: {keyword: x}}]\n")
    agent = "agents: {a: {use: scripted, script: agent.yaml}}\n"
    said += problems(SAID[2].replace("t}", "t, opening: agent}") + agent)
    personas = "personas: [{id: p, script: {states: {start: {say: x, end: true}}}}]\n"
    write("agent.yaml", "otherwise: x\n")
    said += problems(SAID[2].replace("t}", "t, opening: agent}") + agent + personas)
    said += about_work(problems, notes, write)
    rows = [line for line in LINT.splitlines() if line.startswith("| `")]
    quoted = [re.match(r"\| (?:`` ?(.*?) ?``|`(.*?)`)", row) for row in rows]
    assert len(rows) > 40
    said.append(OF_COLLECTION)
    for each in quoted:
        pattern = as_pattern(each[1] or each[2])
        assert any(re.search(pattern, line) for line in said), each[0]
