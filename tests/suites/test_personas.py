# ruff: noqa: E501 - tables of messages are easier to read unwrapped
from __future__ import annotations

import pytest

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.suites.load import load_suite

SUITE = """\
dialeval: 1
task: {id: t, max_rounds: 4}
personas:
  - %s
rubrics: [{id: r, dimension: safety, not: {keyword: bad}}]
"""
STATES = "{id: p, script: {states: {%s}}}"
END = "start: {say: x, end: true}"


def persona(**keys: str) -> str:
    script = "{states: {start: {say: x, end: true}}}"
    parts = {"id": "p", "script": script, **keys}
    return "{" + ", ".join(f"{key}: {value}" for key, value in parts.items()) + "}"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("text", "a persona must be a mapping (id, personality, traits, script, ...), not 'text'"),
        ("{id: p}", "a persona needs 'script' (what it wants and says)"),
        (persona(id="A"), "id must be of a-z, 0-9 and _, not 'A'"),
        (persona(id="a-b"), "id must be of a-z, 0-9 and _, not 'a-b'; write 'a_b'"),
        (persona(id="Hungry-User"), "id must be of a-z, 0-9 and _, not 'Hungry-User'; write 'hungry_user'"),
        (persona(id="' Käse (2)'"), "id must be of a-z, 0-9 and _, not ' Käse (2)'; write 'kase_2'"),
        (persona(id="7"), "id must be of a-z, 0-9 and _, not 7; quote it: '7'"),
        (persona(id="true"), "id must be of a-z, 0-9 and _, not true; quote it: 'true'"),
        (persona(id="''"), "id must be of a-z, 0-9 and _, not ''"),
        (persona(id="x" * 201), "id must be of a-z, 0-9 and _, not 'xxxxx"),
        (persona(traits="[a]"), "traits must be a mapping (key: value), not a list"),
        (persona(traits="{age: 1.5}"), "traits.age must be text, not 1.5; quote it: '1.5'"),
        (persona(tags="[A]"), "tags[0] must be of a-z, 0-9 and _, not 'A'; write 'a'"),
        (persona(tags="[饿]"), "tags[0] must be of a-z, 0-9 and _, not '饿'"),
        (persona(tags="a"), "tags must be a list, not 'a'; write [a]"),
        (persona(script="x"), "script must be a mapping (start, covers_flow_nodes, states), not 'x'"),
        (persona(script="{}"), "a script needs 'states' (the states by name)"),
        (persona(script="{states: {}}"), "script.states must not be empty"),
        (persona(noise="{rate: 1.1}"), "noise.rate must be a number from 0 to 1, not 1.1"),
        (persona(noise="{rate: true}"), "noise.rate must be a number from 0 to 1, not true"),
        (persona(noise="{rate: .nan, kinds: [asr]}"), "noise.rate must be a number from 0 to 1, not nan"),
        (persona(noise="{kinds: [asrr]}"), "noise.kinds[0] must be one of 'filler', 'asr', 'broken', 'interruption', not 'asrr'; did you mean 'asr'?"),
        (persona(noise="{rate: 0.2}"), "noise with a rate needs kinds: some of filler, asr, broken, interruption"),
        (persona(probes="[{id: a}]"), "a probe needs 'say' (the line; noise never touches it)"),
        (persona(probes="[{id: a, say: ' ', at_user_turn: 1}]"), "probes[0].say must be text that is not blank, not ' '"),
        (persona(probes="[{id: a, say: x, at_user_turn: 0}]"), "probes[0].at_user_turn must be a whole number of at least 1, not 0"),
        (persona(probes="[{id: a, say: x}]"), "probe 'a' needs at_user_turn or on_state, one of them; it has neither"),
        (persona(probes="[{id: a, say: x, at_user_turn: 1, on_state: start}]"), "probe 'a' needs at_user_turn or on_state, one of them; it has both"),
        (persona(probes="[{id: a, say: x, at_user_turn: 5}]"), "user turn 5 never comes: max_rounds is 4; lower it, or raise task.max_rounds"),
        (persona(probes="[{id: a, say: x, on_state: strt}]"), "no state 'strt'; did you mean 'start'? (there: start)"),
        (persona(probes="[{id: a, say: x, at_user_turn: 1}, {id: a, say: y, at_user_turn: 2}]"), "probe 'a' is there twice: rename one"),
        (persona(probes="[{id: a, say: x, at_user_turn: 2}, {id: b, say: y, at_user_turn: 2}]"), "probes 'a' and 'b' both take user turn 2: move one"),
        (STATES % "start: {say: [], end: true}", "script.states.start.say must not be empty"),
        (STATES % "start: {say: [x, '\u3000'], end: true}", "script.states.start.say[1] must be text that is not blank, not '\\u3000'"),
        (STATES % "start: {say: '\u200b', end: true}", "script.states.start.say[0] must be text that is not blank"),
        (STATES % "start: {say: no way, end: no}", "script.states.start.end must be true or false, not 'no'; write false"),
        (STATES % "a b: {say: x}", "script.states['a b'] must be of letters, digits, _ . and -, not 'a b'; write 'a_b'"),
        (STATES % "饿 了!: {say: x}", "script.states['饿 了!'] must be of letters, digits, _ . and -, not '饿 了!'; write '饿_了'"),
        (STATES % "start: {end: true}", "state 'start' has nothing to say: give it lines under `say`, or a model for the role user (`models: {user: ...}` or --dialeval-model user=openai:NAME) and a goal"),
        (STATES % "start: {goal: x, end: true}", "state 'start' has nothing to say: give it lines under `say`, or a model for the role user (`models: {user: ...}` or --dialeval-model user=openai:NAME)"),
        (STATES % "begin: {say: x, end: true}", "no state 'start' to start in (there: begin): rename the first one `start`, or write `start: begin` in the script"),
        (persona(script="{start: begn, states: {begin: {say: x, end: true}}}"), "no state 'begn' to start in; did you mean 'begin'? (there: begin)"),
        (STATES % "start: {say: x}", "state 'start' has no way to an end: write `end: true` in a state, or a transition to `end`"),
        (STATES % "start: {say: x, next: [{to: a}]}, a: {say: y, next: [{to: start}]}", "states 'start', 'a' have no way to an end"),
        (STATES % f"{END}, a: {{say: y, end: true}}", "state 'a' is unreachable from 'start': add a transition to it"),
        (STATES % f"{END}, a: {{say: y, next: [{{to: start}}]}}", "state 'a' is unreachable from 'start'"),
        (STATES % "start: {say: x, next: [{to: b}]}", "no state 'b' (there: start, end)"),
        (STATES % "start: {say: x, next: [{to: End}]}", "no state 'End'; did you mean 'end'? (there: start, end)"),
        (STATES % "start: {say: x, next: [{to: end}]}, end: {say: y, end: true}", "`end` is no name for a state: a transition to it leaves; rename it"),
        (STATES % "start: {say: x, end: true, next: [{to: start}]}", "a state with `end: true` goes nowhere: remove next, or end"),
        (STATES % "start: {say: x, next: [{to: end}, {to: start, when: {keyword: y}}]}", "never taken: a transition without `when` stands before it"),
        (STATES % "start: {say: x, next: [{to: start, when: {keyword: y}, weight: 2}, {to: end}]}", "weight counts only where there is no `when`"),
        (STATES % "start: {say: x, next: thanks}", "script.states.start.next must be a list of mappings (to, when, weight), not 'thanks'"),
        (STATES % "start: {say: x, next: [{to: end, weight: 0}]}", "script.states.start.next[0].weight must be a number above 0, not 0"),
        (STATES % "start: {say: x, next: [{to: end, weight: .inf}]}", "script.states.start.next[0].weight must be a number above 0, not inf"),
        (STATES % "start: {say: x, next: [{to: end, weight: true}]}", "script.states.start.next[0].weight must be a number above 0, not true"),
        (STATES % "start: {say: x, next: [end]}", "script.states.start.next[0] must be a mapping (to, when, weight), not 'end'"),
        (STATES % "start: {say: x, next: [{when: {keyword: a}}]}", "a transition needs 'to' (a state, or `end`: the user leaves without another word)"),
        (STATES % "start: {say: x, next: [{to: end, when: {keywrd: a}}]}", "unknown matcher 'keywrd'; did you mean 'keyword'?"),
        (STATES % "start: {say: x, next: [{to: end, when: {keyword: {an: a}}}]}", "unknown key 'an' of keyword; did you mean "),
        (STATES % "start: {say: x, next: [{to: end, when: {}}]}", "script.states.start.next[0].when must be one matcher with its parameters"),
        (STATES % "start: {say: x, next: [{to: end, when: {keyword: a, user_turn: 2}}]}", "script.states.start.next[0].when must be one matcher with its parameters"),
        (STATES % "start: {say: x, next: [{to: end, when: {judge: a}}]}", "judge can't be used here: give a matcher"),
        (STATES % "start: {say: x, next: [{to: end, when: {user_turn: 0}}]}", "at_least must be a whole number of at least 1, not 0"),
        (STATES % "start: {say: x, next: [{to: end, when: {user_turn: {at_most: 2}}}]}", "unknown key 'at_most' of a user_turn condition; did you mean 'at_least'?"),
        (STATES % "start: {say: x, next: [{to: end, when: {user_turn: {}}}]}", "a user_turn condition needs 'at_least' (holds from this user turn on)"),
        (STATES % "start: {say: x, next: [{to: end, when: {user_turn: 9}}]}", "user turn 9 never comes: max_rounds is 4"),
        (persona(script="{covers_flow_nodes: [a], states: {start: {say: x, end: true}}}"), "no flow node 'a' (there: none)"),
    ],
)  # fmt: skip
def test_wrong_personas(problems, written, message):
    found = problems(SUITE % written)
    assert any(each.startswith(f"s.dialeval.yaml:4: {message}") for each in found)


@pytest.mark.parametrize(
    "states",
    [
        END,
        "start: {say: x, next: [{to: end}]}",
        "start: {say: x, next: [{to: end, when: {keyword: y}}]}",
        "start: {say: x, next: [{to: start, when: {keyword: y}}, {to: a}, {to: b, weight: 0.5}]},"
        " a: {say: y, next: [{to: b}]}, b: {say: z, end: true}",
        "start: {say: x, next: [{to: start, weight: 2}, {to: end}]}",
        "start: {say: x, next: [{to: end, when: {user_turn: {at_least: 4}}}]}",
        "start: {say: 你好, next: [{to: 询问, when: {keyword: 免费}}, {to: end}]}, 询问: {say: 好, end: true}",
    ],
)
def test_scripts_that_are_right(load, states):
    assert load(SUITE % (STATES % states)).personas[0].id == "p"


def test_words_that_yaml_1_1_takes_for_truth_values_are_ids(load):
    states = "start: {say: no, next: [{to: on}]}, on: {say: yes, end: true}"
    suite = load(SUITE % f"{{id: no, script: {{states: {{{states}}}}}}}")
    assert suite.personas[0].id == "no"
    assert suite.personas[0].script.states["start"].next[0].to == "on"
    assert suite.personas[0].script.states["on"].say == ("yes",)


def test_lines_point_at_the_state_that_is_wrong(problems):
    found = problems(
        """\
        dialeval: 1
        task: {id: t}
        personas:
          - id: p
            script:
              states:
                start:
                  say: hi
                  next:
                    - when: {keyword: a}
                      to: starts
                    - to: end
                lost:
                  say: [where?]
                  end: true
            probes:
              - id: a
                say: x
                on_state: here
        """
    )
    assert [each.split(": ")[0] for each in found] == [
        "s.dialeval.yaml:11",
        "s.dialeval.yaml:13",
        "s.dialeval.yaml:19",
    ]


def test_a_line_that_its_variables_leave_blank(problems):
    text = SUITE.replace("max_rounds: 4", "variables: {a: ''}")
    states = "{id: p, script: {states: {start: {say: [x, '{a} '], end: true}}}, probes: [{id: q, at_user_turn: 1, say: '{a}'}]}"
    message = "s.dialeval.yaml:4: the line is blank once its variables are filled in"
    assert problems(text % states) == [message]


def test_a_model_words_the_lines_of_states_that_have_none(load):
    text = SUITE % (STATES % "start: {goal: ask for a refund, end: true}")
    suite = load(text + "models: {user: 'openai:x'}\n")
    assert suite.personas[0].script.states["start"].goal == "ask for a refund"


GOALS = "start: {goal: chat, next: [{to: on}]}, on: {goal: ask for a refund}"


def test_a_model_may_leave_where_the_script_has_no_way_on(load, problems):
    text = SUITE % (STATES % GOALS)
    assert load(text + "models: {user: 'openai:x'}\n").personas
    assert len(problems(text)) == 3
    stuck = SUITE % (STATES % "start: {goal: chat, next: [{to: start}]}")
    [message] = problems(stuck + "models: {user: 'openai:x'}\n")
    assert "state 'start' has no way to an end" in message


def test_a_state_that_tells_a_model_nothing(problems):
    text = SUITE % (STATES % "start: {end: true}") + "models: {user: 'openai:x'}\n"
    [message] = problems(text)
    assert message.endswith(
        "state 'start' has nothing to say: give it lines under `say`, or tell the model what it "
        "wants there (`goal`)"
    )


def test_a_model_that_is_set_outside_of_the_suite(tmp_path, write, matchers):
    path = write("s.dialeval.yaml", SUITE % (STATES % GOALS))
    assert load_suite(path, rootdir=tmp_path, matchers=matchers, user_model=True).personas
    path = write("s.dialeval.yaml", SUITE % (STATES % GOALS) + "models: {user: null}\n")
    with pytest.raises(SuiteError, match="has nothing to say"):
        load_suite(path, rootdir=tmp_path, matchers=matchers, user_model=True)


def test_ids_that_stand_twice(problems):
    text = SUITE % persona() + "include: []\n"
    text = text.replace("rubrics:", f"  - {persona(tags='[x]')}\nrubrics:")
    assert problems(text) == ["s.dialeval.yaml:5: id 'p' is taken by line 4: rename one"]


@pytest.mark.parametrize("wrong", ["personas: buyer", "rubrics: greet"])
def test_brackets_alone_are_no_remedy_where_mappings_are_wanted(problems, wrong: str) -> None:
    suite = "dialeval: 1\ntask: {id: t}\npersonas: [{id: p, script: {states: {start: {say: x, end: true}}}}]\n"
    key, _, word = wrong.partition(": ")
    text = "".join(line for line in suite.splitlines(True) if not line.startswith(key)) + wrong
    assert f"{key} must be a list, not {word!r}" in [
        each.partition(": ")[2] for each in problems(text)
    ]
