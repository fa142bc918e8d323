"""A suite with mistakes is a collection error: all of them at once, each with its line."""

from __future__ import annotations

import re

import pytest

from .conftest import Shop, rubric

BROKEN = """\
dialeval: 1
task: {id: shop, max_round: 4}
agents:
  clerk: {use: scriptd, script: clerk.yaml}
personas:
  - id: buyer
    script:
      states:
        start: {say: ["Hi"], end: true}
rubrics:
  - {id: greet, dimension: complete, keyword: {any: [Hello]}}
  - {id: bye, dimension: completion, keyword: {some: [Goodbye]}}
"""


def test_every_mistake_is_said_at_once_with_its_line(shop: Shop) -> None:
    shop.write("shop.dialeval.yaml", BROKEN)

    result = shop.run()

    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting shop.dialeval.yaml*",
            "shop.dialeval.yaml:2: *'max_round'*did you mean 'max_rounds'?*",
            "shop.dialeval.yaml:4: *scriptd*did you mean 'scripted'?*",
            "shop.dialeval.yaml:11: *'completion'*",
            "shop.dialeval.yaml:12: *'some'*",
        ]
    )
    result.assert_outcomes(errors=1)


def test_no_traceback_is_shown(shop: Shop) -> None:
    shop.write("shop.dialeval.yaml", BROKEN)

    for style in ("--tb=auto", "--tb=long", "--tb=native", "-vv"):
        result = shop.run(style)
        text = result.stdout.str()
        assert "Traceback" not in text
        assert "site-packages" not in text
        assert not re.search(r"\.py:\d", text)


def test_a_suite_that_ends_in_yml_is_said_and_never_passed_over(shop: Shop) -> None:
    shop.suite()
    (shop.path / "shop.dialeval.yaml").rename(shop.path / "shop.dialeval.yml")

    result = shop.run()

    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting shop.dialeval.yml*",
            "shop.dialeval.yml: suites end in .dialeval.yaml; rename the file",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_bad_suite_stops_the_run_as_any_test_would(shop: Shop) -> None:
    shop.write("bad.dialeval.yaml", BROKEN)
    shop.suite("good")

    result = shop.run()

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not (shop.path / ".dialeval").exists()


def test_the_others_go_on_where_that_is_asked_for(shop: Shop) -> None:
    shop.write("bad.dialeval.yaml", BROKEN)
    shop.suite("good")

    result = shop.run("--continue-on-collection-errors")

    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert [each["source"] for each in shop.summary["tasks"]] == ["good.dialeval.yaml"]


def test_two_bad_suites_are_two_errors(shop: Shop) -> None:
    shop.write("one.dialeval.yaml", BROKEN)
    shop.write("two.dialeval.yaml", BROKEN)

    result = shop.run()

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["one.dialeval.yaml:2: *", "two.dialeval.yaml:2: *"])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", "", "*empty*"),
        ("dialeval: 1\ntask: {id: shop", "", "*"),
        ("dialeval: 1\ndialeval: 1\n", ":2", "*dialeval*"),
        ("- a\n- b\n", ":1", "*must be a mapping*"),
        ("dialeval: 2\n", ":1", "*must be 1, *"),
        ("dialeval: 1\n\ttask: x\n", ":2", "*tab*"),
    ],
    ids=["empty", "cut_off", "duplicate_key", "list", "version", "tab"],
)
def test_files_that_are_hardly_suites(shop: Shop, text: str, line: str, said: str) -> None:
    shop.write("shop.dialeval.yaml", "x").write_text(text, encoding="utf-8")

    result = shop.run()

    result.stdout.fnmatch_lines([f"shop.dialeval.yaml{line}:{said}"])
    result.assert_outcomes(errors=1)
    assert "Traceback" not in result.stdout.str()


def test_a_file_that_is_no_utf8(shop: Shop) -> None:
    shop.write("shop.dialeval.yaml", "x").write_bytes(b"dialeval: 1 # \xff\xfe\n")

    result = shop.run()

    result.stdout.fnmatch_lines(["shop.dialeval.yaml:*UTF-8*"])


def test_an_include_that_is_missing_or_goes_round(shop: Shop) -> None:
    shop.write("round.yaml", "include: [round.yaml]\n")
    shop.suite(include=["round.yaml", "nowhere.yaml"])

    result = shop.run()

    result.stdout.fnmatch_lines_random(["round.yaml:1:*included in a circle*", "*nowhere.yaml*"])
    result.assert_outcomes(errors=1)


def test_an_include_outside_of_rootdir_is_refused(shop: Shop) -> None:
    shop.pytester.makeini("[pytest]")
    shop.suite(include=["../elsewhere.yaml"])

    shop.run().stdout.fnmatch_lines(["shop.dialeval.yaml:*elsewhere.yaml*"])


def test_an_agents_script_that_is_wrong_is_named_by_its_own_line(shop: Shop) -> None:
    shop.write("clerk.yaml", "replies: []\notherwis: [Hm]\n")
    shop.suite()

    shop.run().stdout.fnmatch_lines(["clerk.yaml:2: *'otherwis'*did you mean 'otherwise'?*"])


def test_lint_errors_stop_collection_too(shop: Shop) -> None:
    probe = rubric("asked", trigger={"probe": "refund"})
    shop.suite(rubrics=[rubric("greet"), probe, rubric("greet")])

    result = shop.run()

    result.stdout.fnmatch_lines_random(
        [
            "shop.dialeval.yaml:*no persona has a probe 'refund'*",
            "shop.dialeval.yaml:*id 'greet' is taken by line *",
        ]
    )


def test_notes_are_one_line_of_the_summary(shop: Shop) -> None:
    shop.suite()

    result = shop.run()

    result.stdout.fnmatch_lines(["1 note *safety is never exercised*"])
    assert result.ret == 0


def test_a_recording_that_cannot_be_read_is_a_collection_error(shop: Shop) -> None:
    shop.write("talks.json", "[{")
    shop.suite(
        agents=None, personas=None, transcripts=[{"format": "tau-bench", "path": "talks.json"}]
    )

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*talks.json*"])
    assert "Traceback" not in result.stdout.str()
