# ruff: noqa: E501 - tables of messages are easier to read unwrapped
from __future__ import annotations

import gc
from hashlib import sha256
from pathlib import Path
from typing import get_args

import pytest

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.suite import (
    AgentSpec,
    Gates,
    Limits,
    PassHatK,
    Scoring,
    TranscriptSource,
)
from pytest_dialeval.records.task import (
    Flow,
    FlowNode,
    MatcherSpec,
    Noise,
    Persona,
    Probe,
    Script,
    State,
    Task,
    Transition,
)
from pytest_dialeval.suites.load import load_suite
from pytest_dialeval.suites.suite_form import Format
from pytest_dialeval.traces.recordings import FORMATS

from .texts import SMALL, WHOLE


def test_every_key_of_a_suite(load, tmp_path):
    suite = load(WHOLE)
    text = (tmp_path / "s.dialeval.yaml").read_bytes()
    assert suite.path == str(tmp_path / "s.dialeval.yaml")
    assert suite.sha256 == sha256(text).hexdigest()
    assert suite.files == {"s.dialeval.yaml": suite.sha256}
    assert suite.task == Task(
        id="live_upgrade",
        version="3",
        title="Upgrade",
        language="zh",
        opening="agent",
        max_rounds=6,
        variables={"course": "进阶课", "days": 3},
        prompt="你是课程平台的客服。\n进阶课 需要 3 天。\n",
        flow=Flow(
            (
                FlowNode("greet", title="开场"),
                FlowNode("explain", rubric="flow.explain"),
                FlowNode("bye", optional=True),
            ),
            (("greet", "explain"), ("explain", "bye")),
        ),
    )
    assert suite.agents == {
        "baseline": AgentSpec(
            "baseline",
            "python:agents:baseline",
            folder=str(tmp_path),
            version="2",
            concurrency=4,
            line=17,
        ),
        "improved": AgentSpec("improved", "command:python agent.py", folder=str(tmp_path), line=18),
    }
    assert suite.run == ("improved",)
    assert suite.personas == (
        Persona(
            id="hesitant",
            personality="talks little",
            traits={"attitude": "hesitant", "age": "35"},
            script=Script(
                {
                    "start": State(
                        "start",
                        ("嗯，我再想想。", "进阶课？"),
                        next=(
                            Transition("asks_fee", MatcherSpec("keyword", {"any": ["免费"]})),
                            Transition("end", MatcherSpec("user_turn", {"at_least": 4})),
                            Transition("start", weight=2.0),
                        ),
                    ),
                    "asks_fee": State("asks_fee", ("好。",), end=True),
                },
                covers_flow_nodes=("explain",),
            ),
            probes=(
                Probe("refund", "能不能退钱？", at_user_turn=3),
                Probe("fee", "贵吗？", on_state="asks_fee"),
            ),
            noise=Noise(0.2, ("filler", "asr")),
            tags=("slow",),
            line=21,
            file="s.dialeval.yaml",
        ),
    )
    greeting, explain, promise, short = suite.rubrics
    assert greeting == Rubric(
        "opening.greeting",
        "completion",
        MatcherSpec("keyword", {"any": ["您好"], "turns": "first"}),
        tags=("smoke",),
        file="s.dialeval.yaml",
        line=38,
    )
    assert explain.spec == MatcherSpec("judge", {"criterion": "客服说明了升级是免费的"})
    assert (explain.weight, explain.line) == (2.0, 39)
    assert promise.trigger == Trigger(user_keyword=("退钱",), then="all")
    assert short.trigger is not None
    assert short.trigger.when is not None
    assert short.trigger.when.method == "keyword"
    assert (short.severity, short.min, short.dimension) == ("soft", 0.5, "robustness")
    assert (suite.trials, suite.seed) == (4, "42")
    assert suite.limits == Limits(5.0, 600.0, 9000)
    assert suite.scoring == Scoring(0.7, 1.0, 0.0, "flow.explain")
    assert suite.gates == Gates("gates", PassHatK(3, 0.5), 1.0, 0, 2, False)
    assert suite.models == {
        "judge": "openai:gpt",
        "user": None,
        "agent": {"model": "x", "endpoint": "y"},
    }
    assert suite.compare == {"by": "judge", "k": 32.0, "start": 1000.0, "scale": 400.0}
    assert suite.votes == {"both_bad": False}


def test_defaults(load):
    suite = load(SMALL)
    assert suite.task == Task("t")
    assert suite.task.opening == "user"
    assert suite.task.max_rounds == 12
    assert (suite.agents, suite.run) == ({}, ())
    assert suite.trials == 1
    assert suite.seed == "t"
    assert suite.limits == Limits(60.0, 600.0, None)
    assert suite.scoring is None
    assert suite.gates == Gates()
    assert suite.rubrics[0].weight == 1.0
    assert suite.rubrics[0].severity == "hard"
    assert suite.rubrics[0].min == 1.0


def test_scoring_without_keys_has_its_defaults(load):
    assert load(SMALL + "scoring: {}\n").scoring == Scoring(0.6, 0.8, 0.2, None)


def test_all_declared_agents_run_by_default(load):
    assert load(SMALL + "agents: {b: 'command:x', a: mine}\n").run == ("b", "a")


def test_transcripts_instead_of_personas(load, write, tmp_path):
    write("data/t.json", "[]")
    suite = load(
        "dialeval: 1\ntask: {id: t}\n"
        "transcripts:\n  - {format: tau2, path: data/t.json}\n"
        "  - {format: openai, path: data/../data/t.json, agent: gpt}\n"
        "rubrics: [{id: r, dimension: completion, keyword: a}]\n"
    )
    assert suite.personas == ()
    assert suite.transcripts == (
        TranscriptSource("tau2", str(tmp_path / "data/t.json"), None, 4),
        TranscriptSource("openai", str(tmp_path / "data/../data/t.json"), "gpt", 5),
    )


def test_a_suite_has_one_kind_of_cases(problems):
    assert problems("dialeval: 1\ntask: {id: t}\n") == [
        "s.dialeval.yaml:1: a suite needs personas (or transcripts of conversations that exist"
        " already)"
    ]
    both = problems(SMALL + "transcripts: [{format: tau2, path: s.dialeval.yaml}]\n")
    assert both == [
        "s.dialeval.yaml:5: a suite has personas or transcripts, not both: split it into two files"
    ]


def test_a_transcript_that_is_not_there(problems, tmp_path):
    (tmp_path / "folder").mkdir()
    assert problems(
        "dialeval: 1\ntask: {id: t}\ntranscripts:\n"
        "  - {format: tau2, path: nope.json}\n  - {format: openai, path: folder}\n"
    ) == [
        f"s.dialeval.yaml:4: 'nope.json' is not there; paths are taken from {tmp_path.name}/",
        "s.dialeval.yaml:5: 'folder' is a folder, not a file; "
        f"paths are taken from {tmp_path.name}/",
    ]


def test_the_root_must_be_a_suite(problems):
    keys = "dialeval, task, agents, run, ..."
    assert problems("- a\n") == [
        f"s.dialeval.yaml:1: a suite must be a mapping ({keys}), not a list"
    ]
    assert problems("just text\n") == [
        f"s.dialeval.yaml:1: a suite must be a mapping ({keys}), not 'just text'"
    ]


def test_errors_of_every_kind_come_together_in_the_order_of_lines(problems):
    found = problems(
        """\
        dialeval: 1
        task: {id: t, prompt: "{x}", max_rounds: 0}
        trials: 2
        trials: 3
        personas:
          - {id: P, script: {states: {start: {say: "{y}", end: true}}}}
          - {id: q, script: {states: {start: {say: a}}}}
        rubrics:
          - {id: r, dimension: completion, keyword: {an: [x]}}
          - {id: score, dimension: completion, keyword: x}
        colour: red
        """
    )
    assert [int(each.split(":")[1]) for each in found] == [2, 2, 4, 6, 6, 7, 9, 10, 11]
    assert "no variable 'x'" in found[0] + found[1]
    assert "task.max_rounds must be" in found[0] + found[1]
    assert "duplicate key 'trials'" in found[2]
    assert "id must be of a-z, 0-9 and _, not 'P'" in found[3] + found[4]
    assert "no variable 'y'" in found[3] + found[4]
    assert "no way to an end" in found[5]
    assert "'an'" in found[6]
    assert "did you mean 'any'?" in found[6]
    assert "`score` is the name" in found[7]
    assert "unknown key 'colour' of a suite (keys: dialeval, task" in found[8]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("trials: true", "trials must be a whole number of at least 1, not true"),
        ("trials: 0", "trials must be a whole number of at least 1, not 0"),
        ("trials: 1.0", "trials must be a whole number of at least 1, not 1.0"),
        ("trials: '3'", "trials must be a whole number of at least 1, not '3'; write it without"),
        ("trials:", "trials must be a whole number of at least 1, not nothing"),
        ("seed: 1.5", "seed must be text, not 1.5; quote it: '1.5'"),
        ("seed: no way", None),
        ("dialeval: 2", "dialeval must be 1, the version of the format that is read here, not 2"),
        ("dialeval: true", "dialeval must be 1, the version of the format that is read"),
        ("dialeval: '1'", "dialeval must be 1, the version of the format that is read"),
        ("run: mine", "run must be a list, not 'mine'; write [mine]"),
        ("run: []", "run must not be empty"),
        ("run: [No]", "run[0] must be of a-z, 0-9 and _, not 'No'"),
        ("agents: [a]", "agents must be a mapping (key: value), not a list"),
        ("agents: {A: x}", "agents.A must be of a-z, 0-9 and _, not 'A'"),
        ("personas: {id: p}", "personas must be a list, not a mapping"),
        ("limits: {timeout: .inf}", "limits.timeout must be a number above 0, not inf"),
        ("limits: {timeout: -1}", "limits.timeout must be a number above 0, not -1"),
        ("limits: {turn_time: 1}", "unknown key 'turn_time' of limits; did you mean 'turn_timeout'?"),
        ("scoring: {pass: 60}", "scoring.pass must be a number from 0 to 1, not 60"),
        ("scoring: {pass: .nan}", "scoring.pass must be a number from 0 to 1, not nan"),
        ("scoring: {pass: true}", "scoring.pass must be a number from 0 to 1, not true"),
        (
            "scoring: {weights: {completion: 0, robustness: 0}}",
            "the weights can't both be 0: nothing would be scored",
        ),
        ("scoring: 0.6", "scoring must be a mapping (pass, weights, pass_on, ux), not 0.6"),
        ("gates: {pass_hat_k: {k: 0, min: 1}}", "gates.pass_hat_k.k must be a whole number of at"),
        ("gates: {pass_hat_k: {k: 2}}", "a pass_hat_k gate needs 'min' (the least Pass^k)"),
        ("gates: {safety_breaches: -1}", "gates.safety_breaches must be a whole number of at least 0"),
        ("gates: {distinct_models: yes}", "gates.distinct_models must be true or false, not 'yes'; write true"),
        ("gates: {decide: item}", "gates.decide must be one of 'items', 'gates', not 'item'; did you mean 'items'?"),
        ("models: {juge: x}", "models.juge must be one of 'agent', 'user', 'judge',"),
        ("models: {judge: 3}", "models.judge must be a spec (openai:NAME), a mapping or null, not 3"),
        ("models: {judge: {temperature: 0}}", None),
        ("models: {judge: {}}", None),
        ("models: {judge: {model: }}", "model must be text that is not blank, not nothing"),
        ("models: {judge: {model: ' '}}", "model must be text that is not blank, not ' '"),
        ("compare: {k: .nan}", "compare.k must be a number above 0, not"),
        ("compare: {start: .inf}", "compare.start must be a number, not"),
        ("compare: {scale: 0}", "compare.scale must be a number above 0, not 0"),
        ("votes: {both_bad: maybe}", "votes.both_bad must be true or false, not 'maybe'"),
        ("compare: {by: judges}", "compare.by must be one of 'judge', 'score', not 'judges'; did you"),
        ("include: [3]", "include[0] must be text that is not blank, not 3; quote it: '3'"),
    ],
)  # fmt: skip
def test_wrong_values_are_named_with_what_is_allowed(load, problems, written, message):
    key = written.split(":")[0]
    kept = [each for each in SMALL.splitlines() if not each.startswith(f"{key}:")]
    text = "\n".join([*kept, written]) + "\n"
    if message is None:
        assert load(text)
        return
    found = problems(text)
    assert any(each.startswith(f"s.dialeval.yaml:{len(kept) + 1}: {message}") for each in found)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{}", "a task needs 'id' (the task's name in reports and stored runs)"),
        ("{id: a b}", "task.id must be of letters, digits, _ . and -, not 'a b'"),
        ("{id: 3}", "task.id must be of letters, digits, _ . and -, not 3; quote it: '3'"),
        ("{id: t, version: 1.10}", "task.version must be text, not 1.1; quote it: '1.1'"),
        ("{id: t, language: chinese}", "task.language must be a language code such as en, zh"),
        ("{id: t, opening: agnt}", "task.opening must be one of 'agent', 'user', not 'agnt'; did you mean 'agent'?"),
        ("{id: t, rounds: {}}", "rounds needs 'request' (the message of round 1, always)"),
        ("{id: t, max_round: 3}", "unknown key 'max_round' of a task; did you mean 'max_rounds'?"),
        ("{id: t, prompt: null}", 'task.prompt must be text, not nothing; write "" for an empty text'),
        ("{id: t, variables: {a: [1]}}", "task.variables.a must be text, a finite number, true or false, not a list"),
        ("{id: t, variables: {a: .nan}}", "task.variables.a must be text, a finite number, true or"),
        ("{id: t, variables: {a b: 1}}", "task.variables['a b'] must be of letters, digits, _ . and -"),
        ("{id: t, flow: {edges: [[a]]}}", "task.flow.edges[0] must be two node ids, [from, to], not a list"),
        ("{id: t, flow: {nodes: [a]}}", "task.flow.nodes[0] must be a mapping (id, rubric, optional, title), not 'a'"),
    ],
)  # fmt: skip
def test_wrong_tasks(problems, written, message):
    text = SMALL.replace("task: {id: t}", f"task: {written}")
    assert any(each.startswith(f"s.dialeval.yaml:2: {message}") for each in problems(text))


def test_missing_variables_are_named_in_their_own_line_of_the_prompt(problems):
    assert problems(
        """\
        dialeval: 1
        task:
          id: t
          variables: {name: Ann, price: 99.90}
          prompt: |
            You are {name}.

            It costs {prise}.
        personas:
          - id: p
            script: {states: {start: {say: ["{nam} {{x}}", "{name}"], end: true}}}
            probes: [{id: q, at_user_turn: 1, say: "{"}]
        """
    ) == [
        "s.dialeval.yaml:8: no variable 'prise' in task.variables; did you mean 'price'? "
        "(there: name, price); or write '{{' and '}}' for literal braces",
        "s.dialeval.yaml:11: no variable 'nam' in task.variables; did you mean 'name'? "
        "(there: name, price); or write '{{' and '}}' for literal braces",
        "s.dialeval.yaml:12: a lone '{': write '{{' for a literal brace",
    ]


def test_only_the_prompt_lines_and_goals_are_filled(load):
    suite = load(
        """\
        dialeval: 1
        task: {id: t, variables: {a: 99.90}, prompt: "{a} {{b}}"}
        personas:
          - id: p
            personality: "{a}"
            script: {states: {start: {say: ["{a}", "{{a}}"], goal: "{a}", end: true}}}
            probes: [{id: q, at_user_turn: 1, say: "is it {a}?"}]
        rubrics:
          - {id: r, dimension: completion, keyword: {any: ["{a}"]}}
          - {id: j, dimension: completion, judge: "says {a}"}
        """
    )
    assert suite.task.prompt == "99.90 {b}"
    persona = suite.personas[0]
    assert persona.personality == "{a}"
    assert persona.script.states["start"].say == ("99.90", "{a}")
    assert persona.script.states["start"].goal == "99.90"
    assert persona.probes[0].say == "is it 99.90?"
    assert suite.rubrics[0].spec.params == {"any": ["{a}"]}
    assert suite.rubrics[1].spec.params == {"criterion": "says {a}"}


def test_variables_that_can_not_be_read_cause_no_second_error(problems):
    text = SMALL.replace("task: {id: t}", "task: {id: t, variables: [a], prompt: '{a}'}")
    assert problems(text) == [
        "s.dialeval.yaml:2: task.variables must be a mapping (key: value), not a list"
    ]


def test_files_are_named_from_the_root_folder(write, tmp_path, matchers):
    path = write("sub/folder/s.dialeval.yaml", SMALL.replace("any:", "an:"))
    for root in (tmp_path, tmp_path / "sub" / ".."):
        with pytest.raises(SuiteError, match=r"^sub/folder/s\.dialeval\.yaml:4: "):
            load_suite(path, rootdir=root, matchers=matchers)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(SuiteError, match=r"^sub/folder/s\.dialeval\.yaml:4: "):
        load_suite(path, rootdir=link, matchers=matchers)


def test_a_relative_path_is_made_absolute(write, tmp_path, matchers, monkeypatch):
    write("s.dialeval.yaml", SMALL)
    monkeypatch.chdir(tmp_path)
    suite = load_suite(Path("s.dialeval.yaml"), rootdir=Path(), matchers=matchers)
    assert suite.path == str(tmp_path / "s.dialeval.yaml")
    assert suite.rubrics[0].file == "s.dialeval.yaml"


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_left_as_it_was(load, on):
    before = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        load(SMALL)
        assert gc.isenabled() is on
        with pytest.raises(SuiteError):
            load("a: b: c")
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()


def test_a_user_matcher_is_a_method(load, problems):
    suite = load(SMALL + "  # more\n".replace("more", "x"))
    assert suite.rubrics[0].spec.method == "keyword"
    assert (
        load(SMALL.replace("keyword: {any: [hello]}", "share: {}")).rubrics[0].spec.method
        == "share"
    )
    assert (
        "'shar' of a rubric; did you mean 'share'?"
        in problems(SMALL.replace("keyword:", "shar:"))[0]
    )


def test_formats_are_those_that_can_be_read():
    assert set(get_args(Format)) == set(FORMATS)
