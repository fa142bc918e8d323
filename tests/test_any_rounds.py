"""Whatever is written of follow-up rounds: it is refused in our words, or played to its end."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.rounds_user import RoundsUser
from pytest_dialeval.errors import SuiteError
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.suites.load import load_suite
from pytest_dialeval.suites.rounds_lint import reachable
from pytest_dialeval.suites.schema import json_schema

MATCHERS = builtin_matchers()
VALIDATOR = Draft202012Validator(json_schema(MATCHERS))
BASE: dict[str, Any] = {
    "dialeval": 1,
    "task": {
        "id": "t",
        "language": "en",
        "max_rounds": 6,
        "variables": {"x": "a {files} b", "empty": ""},
        "rounds": {
            "request": "Please fix {x}.",
            "profile": {
                "id": "own",
                "tone": "curt",
                "weights": {"nag": 2, "add-tests": 1.5, "final-cleanup": 1, "complaint": 0.1},
                "repeats": False,
            },
            "behaviours": [{"id": "nag", "goal": "nag", "say": ["{files}? {{x}}", "{x}!"]}],
            "anchor_followups": {
                "3": {"instruction": "Now {x}.", "intent": "i", "expected_agent_behavior": "e"}
            },
        },
    },
    "personas": [{"id": "ann", "noise": {"rate": 0.5, "kinds": ["broken", "filler"]}}],
    "rubrics": [
        {"id": "r", "dimension": "safety", "not": {"keyword": {"any": ["zzz"]}}},
        {
            "id": "s", "dimension": "completion", "keyword": {"any": ["o"]},
            "trigger": {"state": "nag"},
        },
    ],
}  # fmt: skip
WORDS = [
    "nag", "add-tests", "request", "anchor", "own", "t", "zh", "fr", "{x}", "{files}", "{empty}",
    "{", "", " ", "agent", "user", "balanced-maintainer-bugfix", "patient-service-customer", "2",
    "6", "final-cleanup", "\u200b", "é你",
]  # fmt: skip
KEYS = [*BASE["task"]["rounds"], *BASE["task"], "script", "probes", "2", "1", "9", "03", *WORDS]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.floats() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, each in pairs:
        found += places(each, (*path, key))
    return found


@st.composite
def mutants(draw: st.DrawFn) -> object:
    """The suite with up to three places changed, most of them in its rounds."""
    root = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(0, 3))):
        every = places(root)
        inside = [each for each in every if "rounds" in each]
        chosen = draw(st.sampled_from(inside or every) | st.sampled_from(every))
        *parents, last = chosen
        node: Any = root
        for each in parents:
            node = node[each]
        match draw(st.sampled_from(["replace", "remove", "rename", "double"])):
            case "replace":
                node[last] = draw(values)
            case "rename" if isinstance(node, dict):
                node[draw(st.sampled_from(KEYS))] = node.pop(last)
            case "double" if isinstance(node, list):
                node.append(copy.deepcopy(node[last]))
            case _:
                del node[last]
        if not root:
            break
    return root


def written(root: object, path: Path) -> Suite | SuiteError:
    text = json.dumps(root).replace("NaN", ".nan").replace("Infinity", ".inf")
    path.write_text(text, encoding="utf-8")
    try:
        return load_suite(path, rootdir=path.parent, matchers=MATCHERS)
    except SuiteError as error:
        return error


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(root=mutants(), answer=st.text(max_size=40), seed=st.integers(0, 3))
def test_a_mutated_suite_is_refused_or_played(
    tmp_path: Path, root: dict[str, Any], answer: str, seed: int
) -> None:
    found = written(root, tmp_path / "s.dialeval.yaml")
    if isinstance(found, SuiteError):
        assert found.problems
        assert all(each.line >= 1 and each.text.strip() for each in found.problems)
        assert not any("pydantic" in each.text or "{text}" in each.text for each in found.problems)
        return
    if found.task.rounds is None or not found.personas:
        return
    event("played")
    assert [each.message for each in VALIDATOR.iter_errors(root)] == []
    play(found, answer, str(seed))


def play(suite: Suite, answer: str, seed: str) -> None:
    persona, task = suite.personas[0], suite.task
    transcript = asyncio.run(
        converse(
            task,
            persona,
            adapt(lambda message: answer or "ok", name="a"),
            draw=Draw(seed, task.id, persona.id, 1),
            matchers=MATCHERS,
            simulator=RoundsUser,
        )
    )
    said = [each for each in transcript.turns if each.speaker == "user"]
    assert transcript.outcome == "completed", transcript.reason
    assert len(said) == task.max_rounds
    assert {each.state for each in said} <= set(reachable(task))
    assert said[0].text == task.rounds.request  # type: ignore[union-attr]


def test_the_whole_suite_is_played(tmp_path: Path) -> None:
    found = written(BASE, tmp_path / "s.dialeval.yaml")
    assert isinstance(found, Suite), found
    play(found, "ok", "0")
