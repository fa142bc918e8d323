"""Items are chosen as any tests are: -k, -m, node ids, --lf, -x, --collect-only."""

from __future__ import annotations

import pytest

from .conftest import Shop, persona, rubric

MIXED = [
    rubric("opening.greeting"),
    rubric("manner", "welcome", dimension="robustness", severity="soft", tags=["tone"]),
    rubric(
        "safe",
        dimension="safety",
        keyword=None,
        **{"not": {"keyword": {"any": ["guarantee"]}}},
    ),
]


def names(shop: Shop, *arguments: str) -> list[str]:
    return [each.rpartition("::")[2] for each in shop.ids(*arguments)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("greeting", ["opening.greeting"]),
        ("buyer and not safe", ["opening.greeting", "manner"]),
        ("opening.greeting", ["opening.greeting"]),
        ("seller", []),
    ],
)
def test_k_selects_by_name(shop: Shop, expression: str, expected: list[str]) -> None:
    shop.suite(rubrics=MIXED)

    assert names(shop, "-k", expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("dialeval", ["opening.greeting", "manner", "safe"]),
        ("dialeval(dimension='safety')", ["safe"]),
        ("dialeval(severity='soft')", ["manner"]),
        ("dialeval(method='not')", ["safe"]),
        ("dialeval(persona='buyer', dimension='completion')", ["opening.greeting"]),
        ("dialeval(agent='clerk') and not dialeval(severity='soft')", ["opening.greeting", "safe"]),
        ("dialeval(agent='nobody')", []),
        ("dialeval(tag='tone')", ["manner"]),
    ],
)
def test_m_selects_by_the_markers_arguments(
    shop: Shop, expression: str, expected: list[str]
) -> None:
    shop.suite(rubrics=MIXED)

    assert names(shop, "-m", expression) == expected


def test_a_personas_tags_mark_all_of_its_items(shop: Shop) -> None:
    shop.suite(personas=[persona("buyer"), persona("thief", tags=["red_team"])])

    assert shop.ids("-m", "dialeval(tag='red_team')") == ["shop.dialeval.yaml::thief-1::greet"]


def test_a_score_item_is_chosen_by_its_own_dimension(shop: Shop) -> None:
    shop.suite(scoring={"pass": 0.5})

    assert names(shop, "-m", "dialeval(dimension='score')") == ["score"]


def test_the_marker_is_registered(shop: Shop) -> None:
    shop.suite()

    shop.run("--markers").stdout.fnmatch_lines(["@pytest.mark.dialeval(dimension=*"])


def test_collect_only_starts_and_writes_nothing(shop: Shop) -> None:
    shop.suite(agents={"clerk": {"use": "python:clerk.py:clerk"}})
    shop.write(
        "clerk.py", "open('imported', 'w').close()\n\ndef clerk(message):\n    return 'Hi'\n"
    )

    result = shop.run("--collect-only")

    assert result.ret == 0
    assert not (shop.path / ".dialeval").exists()
    assert not (shop.path / "imported").exists()
    result.stdout.no_fnmatch_line("*dialogues*")


@pytest.mark.parametrize("option", ["--setup-plan", "--fixtures-per-test"])
def test_other_ways_to_only_look_write_nothing(shop: Shop, option: str) -> None:
    shop.suite()

    assert shop.run(option).ret == 0
    assert not (shop.path / ".dialeval").exists()


def test_one_node_id_runs_one_item_and_one_conversation(shop: Shop) -> None:
    shop.suite(rubrics=MIXED, trials=3)

    result = shop.run("shop.dialeval.yaml::buyer-2::safe")

    result.assert_outcomes(passed=1)
    assert sum(shop.summary["outcomes"].values()) == 1
    assert [each[0]["trial"] for each in shop.traces()] == [2]


def test_a_trial_is_a_node_of_its_own(shop: Shop) -> None:
    shop.suite(rubrics=MIXED, trials=2)

    result = shop.run("shop.dialeval.yaml::buyer-2")

    assert result.parseoutcomes() == {"passed": 3}


def test_an_unknown_node_id_is_pytests_own_error(shop: Shop) -> None:
    shop.suite()

    result = shop.run("shop.dialeval.yaml::buyer-7::greet")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: not found:*buyer-7::greet"])


def test_a_selection_is_said_and_stored(shop: Shop) -> None:
    shop.suite(rubrics=MIXED)

    result = shop.run("-k", "safe")

    result.stdout.fnmatch_lines(["shop: Pass^k over the selected rubrics of shop.dialeval.yaml"])
    assert shop.summary["tasks"][0]["selection"] == "selected rubrics"


def test_a_whole_run_is_no_selection(shop: Shop) -> None:
    shop.suite(rubrics=MIXED)

    result = shop.run()

    result.stdout.no_fnmatch_line("*over the selected rubrics*")
    assert shop.summary["tasks"][0]["selection"] == "all"


def test_lf_runs_the_failed_item_again_and_nothing_else(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("tractor", "tractor"), rubric("manner", "welcome")])
    shop.run().assert_outcomes(passed=2, failed=1)

    result = shop.run("--lf")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAILED shop.dialeval.yaml::buyer-1::tractor*"])


def test_lf_passes_soft_failures_by(shop: Shop) -> None:
    soft = rubric("plough", "plough", severity="soft")
    shop.suite(rubrics=[soft, rubric("tractor", "tractor")])
    assert shop.run().parseoutcomes() == {"failed": 1, "soft": 1}

    assert shop.run("--lf").parseoutcomes() == {"failed": 1, "deselected": 1}


def test_lf_runs_unmeasured_items_again(shop: Shop) -> None:
    judged = {"id": "kind", "dimension": "completion", "judge": "the clerk was kind"}
    shop.suite(rubrics=[rubric("greet"), judged])
    shop.run().assert_outcomes(passed=1, errors=1)

    shop.run("--lf").assert_outcomes(errors=1)


def test_lf_under_deciding_gates_runs_what_failed_by_itself(shop: Shop) -> None:
    """Soft failures and what is unmeasured are their gates' affair."""
    breach = rubric("safe", "tractor", dimension="safety")
    judged = {"id": "kind", "dimension": "completion", "judge": "the clerk was kind"}
    shop.suite(rubrics=[rubric("plough", "plough"), breach, judged], gates={"unmeasured": 1})
    assert shop.run().parseoutcomes() == {"failed": 1, "soft": 1, "unmeasured": 1}

    result = shop.run("--lf")

    assert result.parseoutcomes() == {"failed": 1, "deselected": 2}
    result.stdout.fnmatch_lines(["gate unmeasured*not decided (selection)*"])


def test_x_stops_at_the_first_hard_failure(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor"), rubric("greet")], trials=2)

    result = shop.run("-x")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_x_passes_soft_failures_by(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("plough", "plough", severity="soft"), rubric("greet")])

    assert shop.run("-x").parseoutcomes() == {"passed": 1, "soft": 1}


def test_items_never_reached_are_not_run_in_the_summary(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor"), rubric("greet")], trials=60)

    shop.run("-x", "--dialeval-concurrency", "1").assert_outcomes(failed=1)

    # Looking ahead under -x ends about two trials on; how many of those are over is chance.
    assert shop.summary["outcomes"]["not_run"] >= 50


def test_deselect_leaves_one_item_out(shop: Shop) -> None:
    shop.suite(rubrics=MIXED)

    assert names(shop, "--deselect", "shop.dialeval.yaml::buyer-1::manner") == [
        "opening.greeting",
        "safe",
    ]


def test_junit_is_the_same_for_a_part_of_the_items(shop: Shop) -> None:
    shop.suite(rubrics=MIXED)

    assert list(shop.junit("-k", "greeting")) == ["opening.greeting"]
