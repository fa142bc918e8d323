from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.source import read_source
from pytest_dialeval.suites.variables import filled, written_variables


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("task:\n  prompt: x\n", encoding="utf-8")
    return Place(read_source(path, "a.yaml"), ("task", "prompt"))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{course} in {days} days", "Yoga in 3 days"),
        ("{{course}}", "{course}"),
        ("{{{course}}}", "{Yoga}"),
        ('{{"a": {days}}}', '{"a": 3}'),
        ("nothing", "nothing"),
        ("{课程}", "进阶课"),
        ("", ""),
    ],
)
def test_names_are_filled_and_doubled_braces_are_literal(place, text, result):
    variables = {"course": "Yoga", "days": "3", "课程": "进阶课"}
    assert filled(place, text, variables) == result
    assert place.source.problems == []


def test_what_is_filled_in_is_not_filled_again(place):
    assert filled(place, "{a}", {"a": "{b}", "b": "x"}) == "{b}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "{cours}",
            "no variable 'cours' in task.variables; did you mean 'course'? (there: course)",
        ),
        ("{zzz}", "no variable 'zzz' in task.variables (there: course)"),
        ("{course.__class__}", "no variable 'course.__class__' in task.variables (there:"),
        ("{course!r}", "'{course!r}' names no variable: a name is of letters, digits, _ . and -"),
        ("{0[a]}", "'{0[a]}' names no variable"),
        ("{ course }", "'{ course }' names no variable"),
        ("{}", "'{}' names no variable"),
        ("a { b", "a lone '{': write '{{' for a literal brace"),
        ("a } b", "a lone '}': write '}}' for a literal brace"),
    ],
)
def test_what_names_no_variable(place, text, problem):
    filled(place, text, {"course": "x"})
    (found,) = place.source.problems
    assert found.line == 2
    assert found.text.startswith(problem)


def test_every_missing_name_is_noted(place):
    filled(place, "{a} {b} {a}", {})
    assert [each.text.split(" in ")[0] for each in place.source.problems] == [
        "no variable 'a'",
        "no variable 'b'",
        "no variable 'a'",
    ]
    assert "(there: none)" in place.source.problems[0].text


def test_variables_are_filled_in_as_written(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(
        "task:\n  variables: {a: 99.90, b: '007', c: true, d: 3, e: [1], f: \"x\\ty\"}\n",
        encoding="utf-8",
    )
    place = Place(read_source(path, "a.yaml"), ("task",))
    assert written_variables(place) == {
        "a": "99.90",
        "b": "007",
        "c": "true",
        "d": "3",
        "e": "",
        "f": "x\ty",
    }


@given(st.text(string.ascii_letters + "{} .!:[]\n你", max_size=30))
def test_doubling_all_braces_gives_the_text_back(text):
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert filled(None, doubled, {}) == text  # type: ignore[arg-type]  # no problem, no place
