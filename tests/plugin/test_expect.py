"""`dialogue.expect.<matcher>`: any matcher, asked from a test's body."""

from __future__ import annotations

import pytest

from .conftest import Shop, told

HEAD = """
import pytest
from pytest_dialeval import dialogue_case

@dialogue_case("shop.dialeval.yaml")
def test_shop(dialogue):
"""


def body(shop: Shop, *lines: str) -> pytest.RunResult:
    """Run one body on the conversation with the clerk."""
    shop.suite(rubrics=[])
    text = "\n".join(f"    {each}" for each in lines)
    return shop.run(str(shop.write("test_shop.py", f"{HEAD}{text}\n")))


@pytest.mark.parametrize(
    "line",
    [
        'dialogue.expect.keyword(any=["lamp"])',
        'dialogue.expect.keyword(any=["lamp"], turns="first", by="agent")',
        'dialogue.expect.keyword(all=["Hello", "Goodbye"])',
        'dialogue.expect.keyword(any=["thanks"], by="user")',
        'dialogue.expect.keyword(["lamp"])',
        'dialogue.expect.keyword("lamp")',
        'dialogue.expect.not_({"keyword": {"any": ["tractor"]}})',
        'dialogue.expect.not_(keyword={"any": ["tractor"]})',
        'dialogue.expect.all([{"keyword": ["Hello"]}, {"not": {"keyword": ["tractor"]}}])',
        'dialogue.expect.any([{"keyword": ["tractor"]}, {"keyword": ["lamp"]}])',
        'dialogue.expect.ordered_keyword(steps=["Hello", "Goodbye"])',
        'dialogue.expect.blacklist(phrases=["guarantee"])',
        "dialogue.expect.length(max_chars=60)",
        'dialogue.expect.regex("^Hello")',
        'dialogue.expect.language("en")',
        "dialogue.expect.placeholder()",
        "dialogue.expect.repetition()",
        "dialogue.expect.number_whitelist(allow=[3])",
    ],
)
def test_what_holds_passes(shop: Shop, line: str) -> None:
    body(shop, line).assert_outcomes(passed=1)


def test_it_returns_the_verdict(shop: Shop) -> None:
    body(
        shop,
        'verdict = dialogue.expect.keyword(any=["lamp"])',
        'assert (verdict.status, verdict.score) == ("passed", 1.0)',
        "[evidence] = verdict.evidence",
        'assert (evidence.turn, evidence.quote) == (2, "lamp")',
    ).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'dialogue.expect.keyword(any=["tractor"])',
            "E*keyword: no searched turn says 'tractor'",
        ),
        ('dialogue.expect.keyword(all=["Hello", "tractor"])', "E*keyword: 1 of 2 are said*"),
        ('dialogue.expect.not_({"keyword": {"any": ["lamp"]}})', "E*not: *'lamp'*"),
        ('dialogue.expect.blacklist(phrases=["lamp"])', "E*blacklist: *'lamp'*"),
        ("dialogue.expect.length(max_chars=20)", "E*length: *"),
        ('dialogue.expect.regex("^Goodbye", turns="first")', "E*regex: *"),
        ('dialogue.expect.ordered_keyword(steps=["Goodbye", "Hello"])', "E*ordered_keyword: *"),
    ],
)
def test_what_does_not_hold_fails(shop: Shop, line: str, said: str) -> None:
    result = body(shop, line)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f">*{line.replace('[', '[[]')}*", said])


def test_a_failure_shows_expectation_and_turns_and_none_of_our_source(shop: Shop) -> None:
    result = body(shop, 'dialogue.expect.not_({"keyword": {"any": ["lamp"]}})')

    result.stdout.fnmatch_lines(
        [
            "E*not: *",
            "E*expected: *lamp*",
            "E*turn 2 agent: Hello! The >>lamp<< is in stock.",
            "test_shop.py:*",
        ]
    )
    assert "pytest_dialeval/plugin" not in result.stdout.str()


def test_a_failure_in_junit_carries_the_turns(shop: Shop) -> None:
    body(shop, 'dialogue.expect.keyword(any=["tractor"])')

    [failure] = told(shop.junit("test_shop.py")["test_shop[buyer-1]"])

    assert "turn 2 agent: Hello! The lamp is in stock." in str(failure.text)
    assert "pytest_dialeval/plugin" not in str(failure.text)


def test_a_body_may_expect_many_things(shop: Shop) -> None:
    result = body(
        shop,
        'dialogue.expect.keyword(any=["Hello"])',
        'dialogue.expect.keyword(any=["lamp"])',
        'dialogue.expect.keyword(any=["tractor"])',
        'dialogue.expect.keyword(any=["plough"])',
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*'tractor'"])
    result.stdout.no_fnmatch_line("E*'plough'*")


def test_a_question_that_does_not_arise_skips(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        "def never(view, *, word: str):\n    return None\n\n"
        "def pytest_dialeval_matchers(config):\n    return {'never': never}\n",
    )

    body(shop, "dialogue.expect.never('x')").assert_outcomes(skipped=1)


def test_a_users_own_matcher(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        def shouting(view, *, least: int = 1) -> bool:
            return sum("!" in turn.text for turn in view.searched()) >= least

        def pytest_dialeval_matchers(config):
            return {"shouting": shouting}
        """,
    )

    result = body(shop, "dialogue.expect.shouting()", "dialogue.expect.shouting(least=9)")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [">*expect.shouting(least=9)", "E*shouting: shouting answers False"]
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "dialogue.expect.keyword(some=['x'])",
            "E*TypeError: dialogue.expect.keyword: *unknown key 'some'*",
        ),
        ("dialogue.expect.keyword()", "E*TypeError: dialogue.expect.keyword: *"),
        ("dialogue.expect.keyword(any=[])", "E*TypeError: dialogue.expect.keyword: *"),
        (
            "dialogue.expect.keyword(any=['x'], turns='frist')",
            "E*TypeError: dialogue.expect.keyword: *'frist'*did you mean 'first'?*",
        ),
        (
            "dialogue.expect.keywrd(any=['x'])",
            "E*TypeError: dialogue.expect.keywrd: *did you mean 'keyword'?*",
        ),
        ("dialogue.expect.regex('(')", "E*TypeError: dialogue.expect.regex: *"),
    ],
)
def test_bad_parameters_are_a_type_error_of_the_test(shop: Shop, line: str, said: str) -> None:
    result = body(shop, line)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([said])
    assert "pytest_dialeval/plugin" not in result.stdout.str()


def test_positional_and_named_parameters_do_not_mix_silently(shop: Shop) -> None:
    body(shop, "dialogue.expect.keyword(['lamp'], turns='last')").assert_outcomes(failed=1)


def test_two_positional_parameters_are_refused(shop: Shop) -> None:
    body(shop, "dialogue.expect.keyword('lamp', 'tractor')").assert_outcomes(failed=1)


def test_the_judge_is_asked_where_there_is_one(shop: Shop) -> None:
    shop.write(
        "judge.yaml",
        "verdicts: {expect.judge: {verdict: met, evidence: [{quote: in stock}]}}\n",
    )
    shop.write(
        "conftest.py",
        "from pytest_dialeval import ScriptedJudge\n\n"
        "def pytest_dialeval_judges(config):\n"
        "    return {'default': ScriptedJudge.from_file('judge.yaml')}\n",
    )

    body(shop, "dialogue.expect.judge('the clerk told the truth')").assert_outcomes(passed=1)
