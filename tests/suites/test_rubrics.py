# ruff: noqa: E501 - tables of messages are easier to read unwrapped
from __future__ import annotations

import pytest

SUITE = """\
dialeval: 1
task: {id: t, opening: %s}
personas:
  - id: p
    script:
      states:
        start: {say: [Hi there., I want a refund.], next: [{to: later}]}
        later: {say: Please., end: true}
    probes:
      - {id: first, at_user_turn: 1, say: May I ask about the fee?}
      - {id: third, at_user_turn: 3, say: Is it free?}
rubrics:
  - %s
"""


def rubric(**keys: str) -> str:
    parts = {"id": "r", "dimension": "completion"} | ({} if "judge" in keys else {"keyword": "hi"})
    return (
        "{"
        + ", ".join(f"{key}: {value}" for key, value in {**parts, **keys}.items() if value)
        + "}"
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("text", "must be a rubric (id, dimension, a method, ...), not 'text'"),
        ("{id: r, dimension: completion}", "a rubric needs a method: one of all, any,"),
        (rubric(length="{max_chars: 3}", keyword="{any: [a]}", judge="x"), "a rubric has one method, not "),
        (rubric(keyword="", keywrd="x"), "unknown key 'keywrd' of a rubric; did you mean 'keyword'? (keys: id, dimension, weight, severity, trigger, min, tags; methods: all, any,"),
        (rubric(wieght="2"), "unknown key 'wieght' of a rubric; did you mean 'weight'?"),
        (rubric(id="Opening"), "id must be of a-z, 0-9 and _, with single dots between, not 'Opening'; write 'opening'"),
        (rubric(id="a..b"), "id must be of a-z, 0-9 and _, with single dots between, not 'a..b'; write 'a.b'"),
        (rubric(id=".a"), "id must be of a-z, 0-9 and _, with single dots between, not '.a'"),
        (rubric(id="1.5"), "id must be of a-z, 0-9 and _, with single dots between, not 1.5; quote it: '1.5'"),
        (rubric(id="score"), "`score` is the name of a trial's own item: rename the rubric"),
        (rubric(dimension="complete"), "dimension must be one of 'completion', 'robustness', 'safety', not 'complete'; did you mean 'completion'?"),
        (rubric(dimension=""), "a rubric needs 'dimension' (completion, robustness or safety)"),
        (rubric(severity="Hard"), "severity must be one of 'hard', 'soft', not 'Hard'; did you mean 'hard'?"),
        (rubric(weight="0"), "weight must be a number above 0, not 0"),
        (rubric(weight="-1"), "weight must be a number above 0, not -1"),
        (rubric(weight=".nan"), "weight must be a number above 0, not nan"),
        (rubric(weight=".inf"), "weight must be a number above 0, not inf"),
        (rubric(weight="true"), "weight must be a number above 0, not true"),
        (rubric(weight="'2'"), "weight must be a number above 0, not '2'; write it without quotes"),
        (rubric(min="-0.1"), "min must be a number from 0 to 1, not -0.1"),
        (rubric(min="1.1"), "min must be a number from 0 to 1, not 1.1"),
        (rubric(min="50"), "min must be a number from 0 to 1, not 50"),
        (rubric(tags="[a-b]"), "tags[0] must be of a-z, 0-9 and _, not 'a-b'"),
        (rubric(keyword="{an: hi}"), "unknown key 'an' of keyword; did you mean "),
        (rubric(keyword="{any: []}"), ""),
        (rubric(keyword="", regex="'('"), "regex.pattern: '(': this is no regular expression"),
        (rubric(trigger="{when: {regex: '['}}"), "regex.pattern: '[': this is no regular expression"),
        (rubric(judge="''"), "criterion must be text that is not blank, not ''"),
        (rubric(judge="~"), "criterion must be text that is not blank, not nothing"),
        (rubric(judge="3"), "criterion must be text that is not blank, not 3; quote it: '3'"),
        (rubric(judge="{votes: 3}"), "a judge question needs 'criterion' (a statement that is met or not met)"),
        (rubric(judge="{criterion: x, votes: 0}"), "votes must be a whole number of at least 1, not 0"),
        (rubric(judge="{criterion: x, vote: 1}"), "unknown key 'vote' of a judge question; did you mean 'votes'?"),
        (rubric(judge="{criterion: x, levels: [{name: a, score: 0, example: x}]}"), "levels must have 2 or more, not 1"),
        (rubric(judge="{criterion: x, levels: [{name: a, score: 0}]}"), "a level needs 'example' (an answer that stands on this level)"),
        (rubric(trigger="{}"), "a trigger has exactly one of probe, state, user_keyword, when; it has none of them"),
        (rubric(trigger="{probe: first, state: start}"), "a trigger has exactly one of probe, state, user_keyword, when; it has both probe and state"),
        (rubric(trigger="first"), "trigger must be a mapping (probe, state, user_keyword, when, ...), not 'first'"),
        (rubric(trigger="{prob: first}"), "unknown key 'prob' of a trigger; did you mean 'probe'?"),
        (rubric(trigger="{probe: first, then: before}"), "trigger.then must be one of 'after', 'all', not 'before'"),
        (rubric(trigger="{user_keyword: []}"), "trigger.user_keyword must not be empty"),
        (rubric(trigger="{user_keyword: ['']}"), "trigger.user_keyword[0] must be text that is not blank, not ''"),
        (rubric(trigger="{user_keyword: [true]}"), "trigger.user_keyword[0] must be text that is not blank, not true; quote it: 'true'"),
        (rubric(trigger="{when: {keyword: a, share: {}}}"), "trigger.when must be one matcher with its parameters"),
        (rubric(trigger="{when: {keyword: {al: a}}}"), "unknown key 'al' of keyword; did you mean "),
        (rubric(trigger="{when: {judge: a}}"), "judge can't be used here: give a matcher; only a rubric is judged"),
        (rubric(trigger="{probe: frst}"), "no persona has a probe 'frst', so the trigger can never fire; did you mean 'first'? (there: first, third)"),
        (rubric(trigger="{state: latr}"), "no persona has a state 'latr', so the trigger can never fire; did you mean 'later'? (there: later, start)"),
    ],
)  # fmt: skip
def test_wrong_rubrics(problems, written, message):
    found = problems(SUITE % ("user", written))
    assert any(each.startswith(f"s.dialeval.yaml:13: {message}") for each in found)


def test_a_number_may_trigger(load):
    suite = load(SUITE % ("user", rubric(trigger="{user_keyword: [327, free]}")))
    assert suite.rubrics[0].trigger.user_keyword == ("327", "free")


NEVER = (
    "s.dialeval.yaml:13: can never be met: it is triggered by a line of the user, but searches "
    "only the agent's first turn, which comes before; use turns: all, next or last, or remove "
    "the trigger"
)
FIRST = "{any: [hi], turns: first}"


@pytest.mark.parametrize(
    "trigger",
    [
        "{probe: first}",
        "{probe: third, then: all}",
        "{state: start}",
        "{user_keyword: refund}",
        "{when: {keyword: hi}}",
    ],
)
def test_an_agent_that_opens_has_spoken_before_any_trigger(problems, load, trigger):
    written = rubric(keyword=FIRST, trigger=trigger)
    assert problems(SUITE % ("agent", written)) == [NEVER]
    for turns in ("all", "next", "last", "after_trigger"):
        other = written.replace("turns: first", f"turns: {turns}")
        assert load(SUITE % ("agent", other)).rubrics[0].id == "r"


@pytest.mark.parametrize(
    ("trigger", "possible"),
    [
        ("{probe: first}", True),
        ("{probe: third}", False),
        ("{state: start}", True),
        ("{state: later}", False),
        ("{user_keyword: refund}", True),
        ("{user_keyword: REFUND}", True),
        ("{user_keyword: fee}", True),
        ("{user_keyword: please}", False),
        ("{user_keyword: [free, please]}", False),
        ("{user_keyword: [free, hi]}", True),
        ("{when: {keyword: {any: hi, by: user}}}", True),
    ],
)
def test_a_user_that_opens_may_trigger_with_its_first_line(problems, load, trigger, possible):
    text = SUITE % ("user", rubric(keyword=FIRST, trigger=trigger))
    if possible:
        assert load(text).rubrics[0].id == "r"
    else:
        assert problems(text) == [NEVER]


def test_the_first_turn_is_found_inside_combinators(problems, load):
    inner = "keyword: {any: [hi], turns: first}"
    both = rubric(keyword="", all=f"[{{{inner}}}, {{keyword: bye}}]", trigger="{probe: third}")
    either = rubric(keyword="", any=f"[{{{inner}}}, {{keyword: bye}}]", trigger="{probe: third}")
    assert problems(SUITE % ("user", both)) == [NEVER]
    assert load(SUITE % ("user", either)).rubrics[0].id == "r"


def test_the_user_s_first_turn_is_another_matter(load):
    written = rubric(
        keyword="{any: [hi], turns: first, by: user}", trigger="{probe: third, then: all}"
    )
    assert load(SUITE % ("agent", written)).rubrics[0].id == "r"


def test_a_user_played_by_a_model_may_say_anything_first(load):
    text = SUITE % ("user", rubric(keyword=FIRST, trigger="{user_keyword: please}"))
    assert load(text + "models: {user: 'openai:x'}\n").rubrics[0].id == "r"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            rubric(dimension="safety", keyword="", share="{}"),
            "a safety rubric must be met or not met, but share with these parameters gives shares",
        ),
        (
            rubric(dimension="safety", keyword="{all: [a, b]}"),
            "a safety rubric must be met or not met, but keyword with these parameters gives",
        ),
        (
            rubric(
                dimension="safety",
                judge="{criterion: x, levels: [{name: a, score: 0, example: x}, {name: b, score: 1, example: y}]}",
            ),
            "a safety rubric must be met or not met: remove levels",
        ),
        (
            rubric(dimension="safety", keyword="", length="{max_chars: 40}"),
            "a safety rubric must be met or not met, but length with these parameters gives",
        ),
        (
            rubric(dimension="safety", keyword="", ordered_keyword="[[a], [b]]"),
            "a safety rubric must be met or not met, but ordered_keyword with these",
        ),
        (rubric(dimension="safety", min="0"), "a safety rubric with min: 0 can never fail"),
    ],
)
def test_safety_is_yes_or_no(problems, written, message):
    (found,) = problems(SUITE % ("user", written))
    assert found.startswith(f"s.dialeval.yaml:13: {message}")


@pytest.mark.parametrize(
    "written",
    [
        rubric(dimension="safety", keyword="{any: [a, b]}"),
        rubric(dimension="safety", judge="The agent promises nothing."),
        rubric(dimension="safety", keyword="", all="[{share: {}}]"),
        rubric(dimension="safety", keyword="", all="[{keyword: {all: [a, b]}}]"),
        rubric(keyword="{all: [a, b]}", min="0.5"),
        rubric(keyword="", share="{}"),
        rubric(dimension="safety", keyword="", blacklist="{phrases: [guaranteed]}"),
        rubric(dimension="safety", keyword="", regex="'^[A-Z]'"),
        rubric(dimension="safety", keyword="", number_whitelist="{allow: [3]}"),
        rubric(dimension="safety", keyword="", placeholder=" "),
    ],
)
def test_what_is_yes_or_no_may_guard_safety(load, written):
    assert load(SUITE % ("user", written)).rubrics[0].id == "r"


def test_judge_questions(load):
    levels = "[{name: bad, score: 0, example: x}, {name: good, score: 1, example: y}]"
    written = rubric(judge=f"{{criterion: x, votes: 3, batch: false, levels: {levels}}}")
    assert load(SUITE % ("user", written)).rubrics[0].spec.params == {
        "criterion": "x",
        "votes": 3,
        "batch": False,
        "levels": [
            {"name": "bad", "score": 0.0, "example": "x"},
            {"name": "good", "score": 1.0, "example": "y"},
        ],
    }


def test_recordings_name_probes_and_states_only_in_our_own_format(problems, load, write):
    write("t.json", "[]")
    text = """\
dialeval: 1
task: {id: t}
transcripts: [{format: %s, path: t.json}]
rubrics:
  - {id: r, dimension: completion, keyword: {any: x, turns: first}, trigger: {%s}}
"""
    assert problems(text % ("tau2", "probe: a")) == [
        "s.dialeval.yaml:5: recordings of these formats name no probe: the trigger can never "
        "fire; use user_keyword or when"
    ]
    assert "name no state" in problems(text % ("openai", "state: a"))[0]
    assert load(text % ("dialeval", "probe: a")).rubrics[0].id == "r"
    assert load(text % ("tau2", "user_keyword: a")).rubrics[0].id == "r"


def test_ids_that_stand_twice(problems):
    text = SUITE % ("user", rubric()) + f"  - {rubric()}\n"
    assert problems(text) == ["s.dialeval.yaml:14: id 'r' is taken by line 13: rename one"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (rubric(keyword="{any: {a: 1}}"), "keyword.any must be a list, not {'a': 1}"),
        (
            rubric(keyword="{any: [x], by: 3}"),
            "keyword.by: 3 is not allowed here; allowed: 'agent'",
        ),
        (
            rubric(keyword="", length="{max_chars: '40'}"),
            "length.max_chars must be a whole number, not '40'",
        ),
        (
            rubric(keyword="", all="[{keyword: x}, {length: {tolerance: .nan}}]"),
            "all[1].length.tolerance must be less than or equal to 1, not nan",
        ),
        (rubric(keyword="{any: [~]}"), "keyword.any[0] must be text, not nothing"),
        (
            rubric(keyword="", length="{max_chars: yes}"),
            "length.max_chars must be a whole number, not 'yes'",
        ),
        (
            rubric(keyword="", blacklist="{phrases: [x], unless_negated: 1}"),
            "blacklist.unless_negated must be true or false, not 1",
        ),
        (rubric(keyword="", json="{schema: x}"), "json.schema must be a mapping, not 'x'"),
        (
            rubric(keyword="", recorded="{field: a, min: true}"),
            "recorded.min must be a number, not true",
        ),
        (rubric(keyword="", blacklist="{}"), "blacklist: 'blacklist' needs the key 'phrases'"),
    ],
)
def test_parameters_are_named_by_their_place(problems, written, message):
    found = problems(SUITE % ("user", written))
    assert any(each.startswith(f"s.dialeval.yaml:13: {message}") for each in found)
