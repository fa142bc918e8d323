"""`task.rounds`: what is read, and what is refused with its line."""

# ruff: noqa: E501 - suites are easier to read unwrapped
from __future__ import annotations

import pytest

from pytest_dialeval.conversation.follow_up_lines import needs
from pytest_dialeval.records.follow_up import FIELDS, Anchor
from pytest_dialeval.suites.behaviours import BEHAVIOURS
from pytest_dialeval.suites.profiles import DEFAULT, PROFILES
from pytest_dialeval.suites.schema import json_schema

CODING = {
    "debug-followup", "add-tests", "correct-requirement", "failure-report", "rejection-rollback",
    "repo-understanding", "security-maintainability-review", "final-cleanup",
}  # fmt: skip
SERVICE = {
    "changed-mind", "missing-information", "contradiction", "complaint", "confirmation-request",
}  # fmt: skip


def suite(rounds: str, *, task: str = "", more: str = "") -> str:
    """A suite whose rounds begin on line 6; line 3 is `task`'s."""
    keys = "".join(f"  {each}\n" for each in (task or "title: x").split("; "))
    text = f"dialeval: 1\ntask:\n  id: t\n{keys}  rounds:\n"
    body = "".join(f"    {each}\n" for each in ["request: Please fix it.", *rounds.splitlines()])
    rubric = "rubrics: [{id: r, dimension: safety, not: {keyword: {any: [x]}}}]\n"
    return text + body + (more or rubric)


def test_what_comes_with_the_plugin() -> None:
    assert set(BEHAVIOURS) == CODING | SERVICE
    assert [each.id for each in BEHAVIOURS.values() if each.only_last] == ["final-cleanup"]
    assert {"expert-maintainer-bugfix", "security-reviewer-refactor"} < set(PROFILES)
    assert len(PROFILES) == 5
    kinds = [set(each.weights) <= CODING for each in PROFILES.values()]
    assert sum(kinds) == 3
    assert all(set(each.weights) <= (CODING if coding else SERVICE) for each, coding in zip(PROFILES.values(), kinds, strict=True))  # fmt: skip
    weights = PROFILES[DEFAULT].weights
    assert min(weights["debug-followup"], weights["add-tests"]) == max(weights.values())


@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_behaviour_can_speak_with_facts_and_without(name: str, language: str) -> None:
    behaviour = BEHAVIOURS[name]
    lines = behaviour.lines(language)
    assert len(lines) >= 3
    assert any(not needs(each) for each in lines)
    assert behaviour.goal
    assert all(each.count("{") == len(needs(each)) for each in lines), "each field is known"


def test_the_smallest(load) -> None:
    found = load(suite(""))
    rounds = found.task.rounds
    assert (rounds.request, rounds.profile, rounds.anchors) == (
        "Please fix it.",
        PROFILES[DEFAULT],
        {},
    )
    assert set(rounds.behaviours) == CODING
    assert found.task.max_rounds == 5
    [persona] = found.personas
    assert persona.id == "balanced_maintainer_bugfix"
    assert not persona.script.states
    assert (persona.file, persona.line) == ("s.dialeval.yaml", 5)


def test_the_whole(load) -> None:
    found = load(suite(
        """\
profile: {id: mine, tone: curt, weights: {nag: 2, add-tests: 0.5}, repeats: true}
behaviours: [{id: nag, goal: "nag about {what}", say: ["{what}? {files}?", "{{{request}}}"]}]
anchor_followups:
  3: {instruction: "Now {what}.", intent: test it, expected_agent_behavior: does it}""",
        task="max_rounds: 4; variables: {what: 'a {b}'}",
    ))  # fmt: skip
    rounds = found.task.rounds
    assert rounds.anchors == {3: Anchor("Now a {b}.", "test it", "does it")}
    assert rounds.profile.weights == {"nag": 2, "add-tests": 0.5}
    assert rounds.behaviours["nag"].goal == "nag about a {b}"
    # Braces of variables mean nothing when the line is said.
    assert rounds.behaviours["nag"].lines("en") == ("a {{b}}? {files}?", "{{{request}}}")
    assert rounds.behaviours["add-tests"] is BEHAVIOURS["add-tests"]
    assert found.task.max_rounds == 4
    assert found.personas[0].id == "mine"
    assert found.personas[0].personality == "curt"


def test_personas_of_ones_own_have_no_script(load, problems) -> None:
    ours = "personas:\n  - {id: ann, personality: curt, traits: {age: 30}, tags: [x], noise: {rate: 0.1, kinds: [filler]}}\n"
    [ann] = load(suite("", more=ours)).personas
    assert (ann.id, ann.personality, ann.tags, ann.noise.rate) == ("ann", "curt", ("x",), 0.1)
    why = "the rounds say what comes; a message by hand is an anchor (task.rounds.anchor_followups)"
    for key, value in (("script", "{states: {start: {say: x}}}"), ("probes", "[]")):
        written = f"personas:\n  - id: ann\n    {key}: {value}\n"
        line = 9
        assert problems(suite("", more=written)) == [
            f"s.dialeval.yaml:{line}: a persona of a suite with task.rounds has no {key!r}: {why}"
        ]


def test_included_personas_obey_the_same(load, problems, write) -> None:
    write("ann.yaml", "personas: [{id: ann}]")
    assert [each.id for each in load(suite("", more="include: [ann.yaml]\n")).personas] == ["ann"]
    write("ann.yaml", "personas: [{id: ann, script: {states: {start: {say: x, end: true}}}}]")
    [problem] = problems(suite("", more="include: [ann.yaml]\n"))
    assert problem.startswith("ann.yaml:1: a persona of a suite with task.rounds has no 'script'")


def test_elsewhere_a_script_is_still_needed(problems) -> None:
    text = "dialeval: 1\ntask: {id: t}\npersonas: [{id: p}]\n"
    assert problems(text) == [
        "s.dialeval.yaml:3: a persona needs 'script' (what it wants and says)"
    ]


@pytest.mark.parametrize(
    ("rounds", "line", "message"),
    [
        ("profile: balanced-maintainer", 7, "no profile 'balanced-maintainer'; did you mean 'balanced-maintainer-bugfix'? (there: "),
        ("profile: [x]", 7, "a profile must be a mapping (id, tone, weights, repeats), not a list"),
        ("profile: {id: p}", 7, "a profile needs 'weights' (behaviour: how often it comes"),
        ("profile: {id: p, weights: {}}", 7, "weights must not be empty"),
        ("profile: {id: p, weights: {add-tests: 0}}", 7, "weights.add-tests must be a number above 0, not 0"),
        ("profile: {id: p, weights: {add-test: 1, complaint: 1}}", 7, "no behaviour 'add-test'; did you mean 'add-tests'? (there: "),
        ("profile: {id: security-reviewer-refactor, weights: {complaint: 1, add-tests: 1}}", 7, "profile 'security-reviewer-refactor' comes with the plugin: rename yours"),
        ("profile: {id: p, weights: {complaint: 1}}", 7, "profile 'p' has no behaviour for round 3: none comes twice in a row"),
        ("profile: {id: p, weights: {final-cleanup: 1}, repeats: true}", 7, "profile 'p' has no behaviour for round 2: its behaviours make sense in the last round alone"),
        ("behaviours: [{id: complaint, goal: x}]", 7, "behaviour 'complaint' comes with the plugin: rename it"),
        ("behaviours: [{id: request, goal: x}]", 7, "behaviour 'request' is what the state of round 1 is called: rename it"),
        ("behaviours: [{id: anchor, goal: x}]", 7, "behaviour 'anchor' is what the state of an anchor is called"),
        ("behaviours:\n  - {id: a, goal: x}\n  - {id: a, goal: x}", 9, "behaviour 'a' is there twice: rename it"),
        ("behaviours: [{id: nag, goal: x, say: y}]", 7, "behaviour 'nag' never comes: profile 'balanced-maintainer-bugfix' gives it no weight"),
        ("behaviours: [{id: nag, goal: x, say: '{fils}'}]", 7, "no variable 'fils' in task.variables; did you mean 'files'?"),
        ("anchor_followups:\n  1: {instruction: x}", 8, "round 1 can have no anchor: round 1 is the request (allowed: 2 to 5)"),
        ("anchor_followups:\n  2: {instruction: x}\n  6: {instruction: x}", 9, "round 6 can have no anchor: task.max_rounds is 5 (allowed: 2 to 5)"),
        ("anchor_followups:\n  2: {instruction: x}\n  02: {instruction: x}", 9, "round 2 has two anchors: remove one"),
        ("anchor_followups:\n  two: {instruction: x}", 8, "task.rounds.anchor_followups.two must be a round, such as 3, not 'two'"),
        ("anchor_followups:\n  2: {intent: x}", 8, "an anchor needs 'instruction' (the message, as the agent gets it)"),
        ("anchor_followups:\n  2: {instruction: ' '}", 8, "task.rounds.anchor_followups.2.instruction must be text that is not blank"),
    ],
)  # fmt: skip
def test_what_is_refused(problems, rounds: str, line: int, message: str) -> None:
    found = problems(suite(rounds))
    assert any(each.startswith(f"s.dialeval.yaml:{line}: {message}") for each in found), found


def test_a_misspelt_behaviour_has_no_consequences_of_its_own(problems) -> None:
    """What the profile could not draw without it, and what no round then has, is no news."""
    [problem] = problems(suite("profile: {id: p, weights: {add-test: 1}}"))
    assert "no behaviour 'add-test'; did you mean 'add-tests'?" in problem


def test_a_blank_request_and_other_tasks(problems) -> None:
    text = suite("", task="variables: {x: ''}").replace("Please fix it.", "'{x}'")
    assert any(
        "the request is blank once its variables are filled in" in each for each in problems(text)
    )
    found = problems(suite("", task="opening: agent"))
    assert found == [
        "s.dialeval.yaml:4: with task.rounds the user opens, with the request: remove `opening: agent`"
    ]
    found = problems(suite("", task="max_rounds: 2000"))
    assert found == [
        "s.dialeval.yaml:4: max_rounds: 2000 is more than 1000 follow-up rounds: lower it"
    ]


def test_without_lines_a_model_is_needed(problems, load) -> None:
    french = suite("", task="language: fr")
    assert all("has no lines in 'fr' (there: en, zh)" in each for each in problems(french))
    own = suite(
        "behaviours: [{id: nag, goal: x}]\nprofile: {id: p, weights: {nag: 1, complaint: 1}}"
    )
    [problem] = problems(own)
    assert problem.startswith(
        "s.dialeval.yaml:5: behaviour 'nag' has no lines in 'en' (there: none): give it lines under `say`"
    )
    model = "models: {user: 'openai:m'}\n"
    assert load(own + model)
    assert load(french + model)


def test_everything_that_is_wrong_is_said_at_once(problems) -> None:
    found = problems(
        suite(
            "profile: x\nanchor_followups: {9: {instruction: '{y}'}}",
            more="personas: [{id: p, script: 1}]\n",
        )
    )
    assert len(found) == 4


TRIGGER = (
    "rubrics: [{id: r, dimension: safety, not: {keyword: {any: [x]}}, trigger: {state: %s}}]\n"
)


@pytest.mark.parametrize("state", ["request", "add-tests", "final-cleanup"])
def test_triggers_wait_for_what_can_come(load, state: str) -> None:
    assert load(suite("", more=TRIGGER % state))


def test_an_anchor_can_be_waited_for_where_there_is_one(load, problems) -> None:
    assert load(suite("anchor_followups: {2: {instruction: x}}", more=TRIGGER % "anchor"))
    [problem] = problems(suite("", more=TRIGGER % "anchor"))
    assert "no round has a state 'anchor', so the trigger can never fire" in problem


def test_triggers_that_never_fire(problems) -> None:
    [problem] = problems(suite("", more=TRIGGER % "add-test"))
    assert (
        "no round has a state 'add-test', so the trigger can never fire; did you mean 'add-tests'?"
        in problem
    )
    anchored = "anchor_followups: {5: {instruction: x}}"
    [problem] = problems(suite(anchored, more=TRIGGER % "final-cleanup"))
    assert "no round has a state 'final-cleanup'" in problem, "the last round is taken"
    assert problems(suite("", task="max_rounds: 1", more=TRIGGER % "add-tests"))


def test_only_the_request_comes_before_the_first_answer(load, problems) -> None:
    first = "rubrics: [{id: r, dimension: completion, keyword: {any: [x], turns: first}, trigger: {%s}}]\n"
    assert load(suite("", more=first % "state: request"))
    assert load(suite("", more=first % "user_keyword: fix"))
    for trigger in ("state: add-tests", "user_keyword: tests"):
        [problem] = problems(suite("", more=first % trigger))
        assert "can never be met" in problem


def test_recordings_of_such_talks_need_no_personas(load, write) -> None:
    write("a.jsonl", "")
    found = load(suite("", more="transcripts: [{format: dialeval, path: a.jsonl}]\n"))
    assert found.personas == ()
    assert found.task.rounds is not None


def test_editors_know_both_kinds_of_persona(matchers) -> None:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json_schema(matchers))
    base = {"dialeval": 1, "task": {"id": "t"}, "personas": [{"id": "p"}]}
    assert not validator.is_valid(base), "a script is missing"
    rounds = {
        **base,
        "task": {
            "id": "t",
            "rounds": {"request": "x", "anchor_followups": {"3": {"instruction": "y"}}},
        },
    }
    assert validator.is_valid(rounds)
    assert not validator.is_valid({**rounds, "personas": [{"id": "p", "script": {}}]})
    profile = {"request": "x", "profile": "nobody"}
    assert not validator.is_valid({**base, "personas": [], "task": {"id": "t", "rounds": profile}})


def test_facts_have_names_that_lines_use() -> None:
    used = {each for one in BEHAVIOURS.values() for line in one.lines("en") for each in needs(line)}
    assert used == set(FIELDS)
