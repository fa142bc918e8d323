"""What becomes of an item, verdict by verdict, where items decide: console, exit status, JUnit.

Setup obtains the evidence, the call asserts it: "we don't know" is an error, "it is bad" a failure.
"""

from __future__ import annotations

import pytest

from .conftest import Shop, properties, rubric, told

PASSED = rubric("greet", "Hello")
FAILED = rubric("tractor", "tractor")
SOFT = rubric("plough", "plough", severity="soft")
UNASKED = rubric("fee", "fee", trigger={"user_keyword": ["fee"]})
JUDGED = {"id": "kind", "dimension": "robustness", "judge": "the clerk was kind"}
BREACH = rubric(
    "promise",
    dimension="safety",
    keyword=None,
    **{"not": {"keyword": {"any": ["welcome"]}}},
)


def test_passed(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED])

    result = shop.run("-v")

    assert result.parseoutcomes() == {"passed": 1}
    assert result.ret == 0
    result.stdout.fnmatch_lines(["shop.dialeval.yaml::buyer-1::greet PASSED*"])


def test_passed_in_junit(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED])

    assert told(shop.junit()["greet"]) == []


def test_failed_and_hard(shop: Shop) -> None:
    shop.suite(rubrics=[FAILED])

    result = shop.run("-v")

    assert result.parseoutcomes() == {"failed": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["shop.dialeval.yaml::buyer-1::tractor FAILED*", "*= FAILURES =*", "*_ buyer-1 tractor _*"]
    )


def test_failed_and_hard_in_junit(shop: Shop) -> None:
    shop.suite(rubrics=[FAILED])

    [failure] = told(shop.junit()["tractor"])

    assert failure.tag == "failure"
    assert "no searched turn says 'tractor'" in str(failure.get("message"))
    assert "turn 2 agent: Hello! The lamp is in stock." in str(failure.text)
    assert ".py" not in str(failure.text)


def test_failed_and_soft_does_not_raise(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, SOFT])

    result = shop.run("-v")

    assert result.parseoutcomes() == {"passed": 1, "soft": 1}
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "shop.dialeval.yaml::buyer-1::plough SOFT-FAILED*",
            "soft-failed shop.dialeval.yaml::buyer-1::plough: no searched turn says 'plough'",
            "    rubric: plough (completion, keyword, weight 1)",
            "    expected: 'plough'",
        ]
    )
    result.stdout.no_fnmatch_line("*FAILURES*")


def test_failed_and_soft_is_one_line_of_our_summary_without_v(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, SOFT])

    result = shop.run()

    result.stdout.fnmatch_lines(["*soft-failed shop.dialeval.yaml::buyer-1::plough*"])
    result.stdout.no_fnmatch_line("*expected: 'plough'*")


def test_failed_and_soft_in_junit_is_a_property(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, SOFT])

    case = shop.junit()["plough"]

    found = properties(case)
    assert told(case) == []
    assert found["dialeval"] == "soft-failed"
    assert "no searched turn says 'plough'" in found["dialeval_reason"]


def test_a_soft_failure_opens_no_debugger(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, SOFT])

    result = shop.run("--pdb")

    assert result.parseoutcomes() == {"passed": 1, "soft": 1}


def test_a_soft_safety_rubric_does_not_raise_either(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, {**BREACH, "severity": "soft"}])

    assert shop.run().parseoutcomes() == {"passed": 1, "soft": 1}


def test_a_soft_safety_failure_shows_its_whole_text(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, SOFT, {**BREACH, "severity": "soft"}])

    shop.run().stdout.fnmatch_lines(
        [
            "soft-failed shop.dialeval.yaml::buyer-1::plough: no searched turn says 'plough'",
            "soft-failed shop.dialeval.yaml::buyer-1::promise: turn 4 says 'welcome'",
            "    rubric: promise (safety, not)",
            "    expected: not: 'welcome'",
            "",
            "    turn 3 user [[]state bye[]]: Thanks, bye.",
            "    turn 4 agent: You are >>welcome<<. Goodbye.",
            "",
            "    transcript: *",
            "    repeat: pytest shop.dialeval.yaml::buyer-1::promise",
            "run: *",
        ],
        consecutive=True,
    )


def test_not_applicable_is_skipped_at_the_rubrics_line(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, UNASKED])
    line = shop.line_of("shop.dialeval.yaml", '"id": "fee"')

    result = shop.run("-rs", "-v")

    assert result.parseoutcomes() == {"passed": 1, "skipped": 1}
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"SKIPPED [[]1[]] shop.dialeval.yaml:{line}: its trigger never fired*"]
    )


def test_not_applicable_in_junit_is_skipped(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, UNASKED])

    [skipped] = told(shop.junit()["fee"])

    assert skipped.tag == "skipped"
    assert "its trigger never fired" in str(skipped.get("message"))


def test_a_rubric_of_an_included_file_is_skipped_there(shop: Shop) -> None:
    shop.write(
        "fees.yaml",
        """
        rubrics:
          - {id: fee, dimension: completion, keyword: {any: [fee]}, trigger: {user_keyword: fee}}
        """,
    )
    shop.suite(include=["fees.yaml"])

    shop.run("-rs").stdout.fnmatch_lines(["SKIPPED [[]1[]] fees.yaml:3: its trigger never fired*"])


def test_unmeasured_is_an_error_in_setup(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, JUDGED])

    result = shop.run("-v")

    assert result.parseoutcomes() == {"passed": 1, "errors": 1}
    result.stdout.fnmatch_lines(
        [
            "shop.dialeval.yaml::buyer-1::kind ERROR*",
            "*ERROR at setup of buyer-1 kind*",
            "unmeasured: no judge is configured (judge_error)",
        ]
    )


def test_unmeasured_alone_exits_with_10(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, JUDGED])

    assert shop.run().ret == 10
    assert shop.summary["exit_status"] == 10


def test_a_failure_beside_something_unmeasured_exits_with_1(shop: Shop) -> None:
    shop.suite(rubrics=[FAILED, JUDGED])

    assert shop.run().ret == 1
    assert shop.summary["exit_status"] == 1


def test_an_ordinary_failure_beside_something_unmeasured_exits_with_1(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, JUDGED])
    shop.write("test_other.py", "def test_other():\n    assert False\n")

    assert shop.run().ret == 1


def test_an_ordinary_error_beside_something_unmeasured_exits_with_1(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, JUDGED])
    shop.write("test_other.py", "def test_other(nothing_of_this_name):\n    pass\n")

    assert shop.run().ret == 1


def test_unmeasured_in_junit_is_an_error(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, JUDGED])

    [error] = told(shop.junit()["kind"])

    assert error.tag == "error"
    assert "unmeasured: no judge is configured (judge_error)" in str(error.text)


def test_what_is_unmeasured_counts_neither_for_nor_against(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, JUDGED], trials=2)
    shop.run()

    figures = shop.agent_figures()

    assert (figures["trials"], figures["passed"], figures["unmeasured"]) == (2, 0, 2)
    assert figures["pass_rate"] is None
    first = figures["pass_hat_k"]["1"]
    assert (first["value"], first["value_pessimistic"]) == (None, 0.0)


def test_a_breach_comes_first_in_the_summary(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, BREACH], trials=2)

    result = shop.run()

    assert result.parseoutcomes() == {"passed": 2, "failed": 2}
    result.stdout.fnmatch_lines(
        [
            "2 conversations; rubrics: 2 passed, 2 failed",
            "SAFETY: shop / clerk: 2 of 2 trials breached: promise (2)",
            "task *",
        ]
    )
    assert shop.agent_figures()["safety_breaches"] == 2


def test_the_table_at_once(shop: Shop) -> None:
    shop.suite(rubrics=[PASSED, FAILED, SOFT, UNASKED, JUDGED, BREACH])

    result = shop.run()

    assert result.parseoutcomes() == {
        "passed": 1,
        "failed": 2,
        "soft": 1,
        "skipped": 1,
        "errors": 1,
    }
    result.stdout.fnmatch_lines(
        [
            "1 conversation; rubrics: 1 passed, 2 failed, 1 soft-failed, 1 not applicable, "
            "1 unmeasured"
        ]
    )
    assert shop.summary["verdicts"] == {
        "passed": 1,
        "failed": 2,
        "soft_failed": 1,
        "not_applicable": 1,
        "unmeasured": 1,
        "not_run": 0,
    }


@pytest.mark.parametrize("style", ["auto", "long", "short", "line", "native", "no"])
def test_no_style_of_traceback_shows_our_source(shop: Shop, style: str) -> None:
    shop.suite(rubrics=[FAILED, JUDGED])

    text = shop.run(f"--tb={style}").stdout.str()

    assert "pytest_dialeval" not in text
    assert "Traceback" not in text
