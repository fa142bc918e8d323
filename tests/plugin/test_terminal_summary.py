"""Our part of the terminal: counts, breaches first, Pass^k, what could not be said."""

from __future__ import annotations

import pytest

from .conftest import Shop, persona, rubric

BREACH = rubric(
    "promise", dimension="safety", keyword=None, **{"not": {"keyword": {"any": ["welcome"]}}}
)
ASKED = rubric(
    "haggle",
    dimension="safety",
    keyword=None,
    trigger={"user_keyword": ["haggle"]},
    **{"not": {"keyword": {"any": ["welcome"]}}},
)
JUDGED = {"id": "kind", "dimension": "robustness", "judge": "the clerk was kind"}


def rows(lines: list[str]) -> list[str]:
    """The rows of the Pass^k table."""
    [head] = [place for place, line in enumerate(lines) if line.startswith("task ")]
    return [each for each in lines[head + 2 :] if each.startswith("shop  ")]


def ours(result: pytest.RunResult) -> list[str]:
    """The lines of our section."""
    lines = result.outlines
    [start] = [place for place, line in enumerate(lines) if line.strip("-").strip() == "dialogues"]
    end = next(p for p, line in enumerate(lines) if p > start and line.startswith("run: "))
    return [each for each in lines[start + 1 : end + 1] if each]


def test_one_sentence_of_counts_then_the_table(shop: Shop) -> None:
    shop.suite(
        rubrics=[rubric("greet"), rubric("manner", "welcome", dimension="robustness"), ASKED],
        personas=[persona("buyer"), persona("thief", "I haggle", "Bye")],
        trials=2,
    )

    counts, breaches, heads, _, row, *_ = ours(shop.run())

    # The thief never asks for a lamp, so nobody greets him; and he is told that he is welcome.
    assert counts == "4 conversations; rubrics: 6 passed, 4 failed, 2 not applicable"
    assert breaches == "SAFETY: shop / clerk: 2 of 4 trials breached: haggle (2)"
    assert heads.split() == "task agent cases trials score Pass^1 Pass^2".split()
    # (2 x 1 + 2 x 0) / 4: the buyer's greeting and manners are whole, a breach is worth nothing
    assert row.split()[:7] == ["shop", "clerk", "2", "4", "0.500", "0.500", "0.500"]


def test_each_breach_names_agent_and_rubric(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), BREACH], trials=3)

    lines = ours(shop.run())

    assert lines[1] == "SAFETY: shop / clerk: 3 of 3 trials breached: promise (3)"


def test_safety_that_was_never_asked_about_is_said(shop: Shop) -> None:
    shop.suite(
        rubrics=[rubric("greet"), ASKED],
        personas=[persona("buyer"), persona("thief", "I haggle", "Bye")],
    )

    lines = ours(shop.run("-k", "buyer"))

    assert "shop / clerk: safety was not exercised" in lines


def test_both_readings_where_trials_are_unmeasured(shop: Shop) -> None:
    shop.write(
        "own.py",
        "from pytest_dialeval import NotMeasured\n\n"
        "class own:\n    made = 0\n\n    def __init__(self):\n"
        "        own.made += 1\n        self.bad = own.made == 1\n\n"
        "    async def reply(self, message):\n"
        "        if self.bad:\n            raise NotMeasured('quota')\n        return 'Hello'\n",
    )
    shop.suite(agents={"own": {"use": "python:own.py:own"}}, trials=4)

    lines = ours(shop.run())

    row, at_least_one = rows(lines)
    assert "4 (1 unmeasured)" in row
    assert "1.000 / 0.750" in row  # Pass^1: 3 of 3 measured, 3 of 4 at worst
    assert "1.000 / 0.500" in row  # Pass^2: C(3,2)/C(4,2)
    assert "1.000 / 0.750" in at_least_one  # pass@1 is Pass^1
    assert "shop / own: 1 of 4 trials unmeasured; behind the slash they count as failed" in lines
    assert "shop / own: Pass^4 over 0 of 1 cases" in lines


def test_few_cases_have_no_interval(shop: Shop) -> None:
    shop.suite(personas=[persona(f"p{number}") for number in range(9)])

    lines = ours(shop.run())

    assert "no interval of Pass^1: too few cases" in lines
    assert not [each for each in lines if "95 %" in each]


def test_ten_cases_have_one(shop: Shop) -> None:
    shop.suite(personas=[persona(f"p{number}") for number in range(10)])

    [row, *_] = rows(ours(shop.run()))

    # Wilson's interval of 10 in 10: 10 / (10 + 1.96^2) = 0.722
    assert row.endswith("0.722 to 1.000")


def test_a_row_for_each_agent(shop: Shop) -> None:
    shop.write("rude.yaml", "otherwise: [What now?]\n")
    shop.suite(
        agents={
            "clerk": {"use": "scripted", "script": "clerk.yaml"},
            "rude": {"use": "scripted", "script": "rude.yaml"},
        }
    )

    found = [each.split()[:6] for each in rows(ours(shop.run()))]

    assert found == [
        ["shop", "clerk", "1", "1", "1.000", "1.000"],
        ["shop", "rude", "1", "1", "0.000", "0.000"],
    ]


def test_many_trials_keep_the_table_narrow(shop: Shop) -> None:
    shop.suite(trials=20)

    lines = ours(shop.run("-q"))

    assert max(map(len, lines)) < 150
    assert len(shop.agent_figures()["pass_hat_k"]) == 20


@pytest.mark.parametrize(("option", "shown"), [("-q", True), ("-v", True), ("-qq", False)])
def test_how_much_is_said(shop: Shop, option: str, shown: bool) -> None:
    shop.suite()

    text = shop.run(option).stdout.str()

    assert ("Pass^1" in text) is shown


def test_without_a_terminal_plugin_the_summary_is_still_on_disk(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), JUDGED])

    result = shop.run("-p", "no:terminal")

    assert result.ret == 10
    assert shop.summary["verdicts"]["unmeasured"] == 1


def test_an_interrupted_collection_shows_none(shop: Shop) -> None:
    shop.write("bad.dialeval.yaml", "dialeval: 1\n")

    shop.run().stdout.no_fnmatch_line("*dialogues*")


def test_a_suites_notes_are_said_once_and_in_one_line(shop: Shop) -> None:
    shop.suite()
    shop.write(
        "test_body.py",
        "from pytest_dialeval import dialogue_case\n\n"
        '@dialogue_case("shop.dialeval.yaml")\ndef test_body(dialogue): ...\n',
    )

    notes = [each for each in ours(shop.run()) if "on the suites" in each]

    assert notes == [
        "1 note on the suites: shop.dialeval.yaml:6: safety is never exercised: "
        "no rubric has dimension: safety"
    ]


def test_of_soft_failures_three_of_each_rubric_are_shown(shop: Shop) -> None:
    soft = [rubric(name, word, severity="soft") for name, word in (("a", "oak"), ("b", "elm"))]
    shop.suite(rubrics=[rubric("greet"), *soft], trials=4)

    few, all_ = (
        [each for each in ours(shop.run(*arguments)) if each.startswith("soft-failed ")]
        for arguments in ((), ("-v",))
    )

    node = "soft-failed shop.dialeval.yaml::buyer-"
    assert [each for each in few if each.startswith(node)] == [
        f"{node}{trial}::{name}: no searched turn says {word!r}"
        for name, word in (("a", "oak"), ("b", "elm"))
        for trial in (1, 2, 3)
    ]
    assert len([each for each in all_ if each.startswith(node)]) == 8


def test_our_section_comes_after_the_failures_and_before_the_short_summary(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("farm", "tractor")])

    shop.run("-rf").stdout.fnmatch_lines(
        ["*= FAILURES =*", "*- dialogues -*", "run: *", "*= short test summary info =*", "*failed*"]
    )


@pytest.mark.parametrize(("width", "shown"), [("60", 3), ("200", 5)])
def test_the_table_is_as_wide_as_the_terminal(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, width: str, shown: int
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    shop.write(
        "conftest.py",
        "import pytest\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(session):\n"
        "    reporter = session.config.pluginmanager.get_plugin('terminalreporter')\n"
        "    type(reporter).isatty = property(lambda self: True)\n",
    )
    shop.suite(trials=5)

    result = shop.pytester.runpytest_subprocess("-p", "dialeval")

    [head] = [each for each in result.outlines if each.startswith("task ")]
    assert head.count("Pass^") == shown
