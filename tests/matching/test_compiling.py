from __future__ import annotations

import pytest

from pytest_dialeval.errors import SpecError
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.compiling import compile_spec, spec_of
from pytest_dialeval.records.task import MatcherSpec
from tests.matching.asking import MATCHERS, problems


def test_every_named_matcher_is_there() -> None:
    assert set(builtin_matchers()) == {
        *("keyword", "ordered_keyword", "blacklist", "length", "number_whitelist", "placeholder"),
        *("pace", "repetition", "regex", "language", "tool_called", "tool_sequence", "json"),
        *("recorded", "verifier", "no_regression", "claimed_tests", "all", "any", "not"),
    }
    assert all(name == each.name for name, each in builtin_matchers().items())


@pytest.mark.parametrize(
    ("method", "value", "slow"),
    [
        ("regex", "a+b", False),
        ("regex", "a+a+b", True),
        ("placeholder", [r"<\w+>"], False),
        ("placeholder", [r"<\w+>", "a+a+b"], True),
        ("json", ["id"], False),
        ("json", {"schema": {"properties": {"id": {"pattern": "^[a-z]+$"}}}}, False),
        ("json", {"schema": {"anyOf": [{"pattern": "a+a+b"}]}}, True),
        ("json", {"schema": {"patternProperties": {"a+a+b": {}}}}, True),
        ("not", {"regex": "a+a+b"}, True),
        ("any", [{"keyword": ["x"]}, {"not": {"regex": "a+a+b"}}], True),
        ("all", [{"keyword": ["x"]}], False),
    ],
)
def test_rules_that_may_take_long_on_a_short_text_are_known(
    method: str, value: object, slow: bool
) -> None:
    matchers = builtin_matchers()
    assert compile_spec(spec_of(method, value, matchers), matchers).slow == slow


def test_the_mapping_is_fresh() -> None:
    assert builtin_matchers() is not builtin_matchers()


def test_an_unknown_key_is_told_with_those_allowed() -> None:
    assert problems("keyword", {"anny": ["x"]}) == {
        ("anny",): "unknown key 'anny' of keyword; did you mean 'any'? "
        "(keys: any, all, none, by, turns)"
    }


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("tool_called", {"nme": "find_order"}),
        ("recorded", {"feild": "reward", "min": 1}),
        ("blacklist", {"phrase": "guarantee"}),
    ],
)
def test_a_misspelt_key_is_not_missed_too(method: str, value: dict[str, object]) -> None:
    (text,) = problems(method, value).values()
    assert text.startswith("unknown key ") and "did you mean" in text


@pytest.mark.parametrize(
    ("method", "value", "path", "text"),
    [
        ("keywrd", [], (), "unknown matcher 'keywrd'; did you mean 'keyword'? (matchers: all, "),
        ("keyword", {"any": ["x", True]}, ("any", 1), "a truth value is no word; quote it"),
        ("keyword", {"any": []}, ("any",), "[] is empty"),
        ("keyword", {"any": [" "]}, ("any", 0), "holds nothing that could be found"),
        ("keyword", {"any": ["\u200b"]}, ("any", 0), "holds nothing that could be found"),
        ("keyword", {"any": [float("inf")]}, ("any", 0), "no finite number"),
        ("keyword", {"any": [["x"]]}, ("any", 0), "valid string"),
        ("keyword", {"any": ["x"], "by": "agnt"}, ("by",), "did you mean 'agent'?"),
        ("keyword", {"any": ["x"], "turns": "frist"}, ("turns",), "did you mean 'first'?"),
        ("keyword", {"by": "user"}, (), "needs words below any, all or none"),
        ("keyword", None, (), "needs words below any, all or none"),
        ("length", {}, (), "needs max_ or min_"),
        ("length", 40, (), "40 is no mapping (keys: max_chars"),
        ("length", {"max_chars": "40"}, ("max_chars",), "valid integer"),
        ("length", {"max_chars": -1}, ("max_chars",), "greater than or equal to 0"),
        ("length", {"max_chars": 1, "min_chars": 2}, (), "min_chars is above max_chars"),
        ("length", {"max_chars": 1, "tolerance": 2}, ("tolerance",), "less than or equal to 1"),
        ("ordered_keyword", {"steps": []}, ("steps",), "is empty"),
        ("blacklist", {}, (), "needs the key 'phrases'"),
        ("regex", "(", ("pattern",), "no regular expression"),
        ("regex", "(a+)+$", ("pattern",), "in two ways"),
        ("placeholder", {"built_in": False}, (), "leaves no pattern"),
        ("placeholder", ["(a|a)*"], ("patterns", 0), "in two ways"),
        ("pace", {"steps": ["a"], "per_turn": 0}, ("per_turn",), "greater than or equal to 1"),
        ("tool_called", {"name": "x", "min": 3, "max": 2}, (), "min is above max"),
        ("recorded", {"field": "reward"}, (), "needs one of min, max, equals"),
        ("recorded", {"field": "reward", "min": "1"}, ("min",), "valid number"),
        ("json", {"schema": {"type": "strin"}}, (), "no JSON Schema"),
        ("json", {"schema": {"pattern": "(a+)+"}}, (), "in two ways"),
        ("language", {"is": "klingon"}, ("is",), "allowed: 'zh', 'en'"),
        ("all", [], (), "'all' takes a list of matchers"),
        ("any", {"keyword": ["x"]}, (), "'any' takes a list of matchers"),
        ("not", ["x", "y"], (), "must name one matcher"),
        ("all", [{"judge": "x"}], (0, "judge"), "cannot be combined"),
        ("all", [{"keyword": ["x"], "regex": "x"}], (0,), "must name one matcher"),
        ("all", ["placeholder", {"any": [{"keyword": {"al": 1}}]}],
         (1, "any", 0, "keyword", "al"), "did you mean 'all'?"),
        ("not", {"keyword": {"any": [True]}}, ("keyword", "any", 0), "quote it"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_at_its_place(
    method: str, value: object, path: tuple[str | int, ...], text: str
) -> None:
    found = problems(method, value)
    assert list(found) == [path]
    assert text in found[path]


def test_all_problems_are_told_at_once() -> None:
    found = problems("all", [{"keyword": {"any": [True], "x": 1}}, {"regex": "["}])
    assert set(found) == {(0, "keyword", "any", 0), (0, "keyword", "x"), (1, "regex", "pattern")}


def test_compiling_raises_the_first_of_them() -> None:
    with pytest.raises(SpecError) as caught:
        compile_spec(MatcherSpec("keyword", {"any": [True]}), MATCHERS)
    assert caught.value.path == "keyword.any.0"
    assert caught.value.text == "True: a truth value is no word; quote it"


def test_nesting_is_bounded() -> None:
    value: object = {"keyword": ["x"]}
    for _ in range(30):
        value = {"not": value}
    assert "nested more than" in next(iter(problems("not", value).values()))


def test_a_bare_value_fills_the_shorthand() -> None:
    assert spec_of("keyword", ["x"], MATCHERS) == MatcherSpec("keyword", {"any": ["x"]})
    assert spec_of("regex", "x", MATCHERS) == MatcherSpec("regex", {"pattern": "x"})
    assert spec_of("tool_called", "x", MATCHERS) == MatcherSpec("tool_called", {"name": "x"})
    assert spec_of("placeholder", None, MATCHERS) == MatcherSpec("placeholder")


@pytest.mark.parametrize(
    ("method", "value", "boolean", "scope"),
    [
        ("keyword", {"any": ["a", "b"], "turns": "first"}, True, "first"),
        ("keyword", {"any": ["a"], "turns": "first", "by": "user"}, True, "all"),
        ("keyword", {"all": ["a", "b"]}, False, "all"),
        ("keyword", {"all": ["a"], "turns": "next"}, True, "next"),
        ("ordered_keyword", ["a", "b"], False, "all"),
        ("blacklist", ["a"], True, "all"),
        ("length", {"max_chars": 4}, False, "all"),
        ("length", {"max_chars": 4, "turns": "last"}, True, "last"),
        ("language", "zh", False, "all"),
        ("tool_sequence", ["a", "b"], False, "all"),
        ("all", [{"length": {"max_chars": 4, "turns": "first"}}, "placeholder"], True, "first"),
        ("any", [{"length": {"max_chars": 4, "turns": "first"}}, "placeholder"], True, "all"),
        ("not", {"keyword": {"any": ["a"], "turns": "first"}}, True, "first"),
    ],
)  # fmt: skip
def test_what_a_check_says_of_itself(method: str, value: object, boolean: bool, scope: str) -> None:
    check = compile_spec(spec_of(method, value, MATCHERS), MATCHERS)
    assert (check.boolean, check.scope) == (boolean, scope)
