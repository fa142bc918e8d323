"""Suites become items: their names, their order, and what is shown of agents."""

from __future__ import annotations

import json
import re

import pytest

from .conftest import Shop, persona, rubric

TWO_AGENTS = {
    "plain": {"use": "scripted", "script": "clerk.yaml"},
    "better": {"use": "scripted", "script": "clerk.yaml"},
}


def test_an_id_reads_persona_trial_rubric(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("opening.greeting"), rubric("said")])

    assert shop.ids() == [
        "shop.dialeval.yaml::buyer-1::opening.greeting",
        "shop.dialeval.yaml::buyer-1::said",
    ]


def test_items_come_in_the_order_written(shop: Shop) -> None:
    shop.suite(
        personas=[persona("zoe"), persona("adam")], rubrics=[rubric("b"), rubric("a")], trials=2
    )

    assert shop.ids() == [
        f"shop.dialeval.yaml::{name}-{trial}::{each}"
        for name in ("zoe", "adam")
        for trial in (1, 2)
        for each in ("b", "a")
    ]


@pytest.mark.parametrize(
    ("trials", "first", "last"), [(9, "1", "9"), (10, "01", "10"), (100, "001", "100")]
)
def test_trials_are_padded_to_the_width_of_k(
    shop: Shop, trials: int, first: str, last: str
) -> None:
    shop.suite(trials=trials)

    ids = shop.ids()

    assert len(ids) == trials
    assert ids[0] == f"shop.dialeval.yaml::buyer-{first}::greet"
    assert ids[-1] == f"shop.dialeval.yaml::buyer-{last}::greet"


def test_trials_given_by_option_are_padded_too(shop: Shop) -> None:
    shop.suite(trials=3)

    assert shop.ids("--dialeval-trials", "12")[0] == "shop.dialeval.yaml::buyer-01::greet"


def test_the_agent_stands_in_front_where_two_are_declared(shop: Shop) -> None:
    shop.suite(agents=TWO_AGENTS)

    assert shop.ids() == [
        "shop.dialeval.yaml::plain-buyer-1::greet",
        "shop.dialeval.yaml::better-buyer-1::greet",
    ]


@pytest.mark.parametrize("arguments", [(), ("--dialeval-agent", "plain")])
def test_the_agent_is_shown_whatever_is_chosen(shop: Shop, arguments: tuple[str, ...]) -> None:
    shop.suite(agents=TWO_AGENTS, run=["plain"])

    assert shop.ids(*arguments) == ["shop.dialeval.yaml::plain-buyer-1::greet"]


def test_the_agent_is_shown_where_an_option_adds_one(shop: Shop) -> None:
    shop.suite()
    shop.write("own.py", "def own(message):\n    return 'Hello!'\n")

    assert shop.ids("--dialeval-agent", "own=python:own.py:own") == [
        "shop.dialeval.yaml::own-buyer-1::greet"
    ]


def test_an_option_that_replaces_the_only_agent_does_not_show_it(shop: Shop) -> None:
    shop.suite()
    shop.write("own.py", "def own(message):\n    return 'Hello!'\n")

    assert shop.ids("--dialeval-agent", "clerk=python:own.py:own") == [
        "shop.dialeval.yaml::buyer-1::greet"
    ]


def test_a_suite_with_scoring_has_a_score_item_last(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("again")], scoring={"pass": 0.5})

    assert shop.ids() == [
        "shop.dialeval.yaml::buyer-1::greet",
        "shop.dialeval.yaml::buyer-1::again",
        "shop.dialeval.yaml::buyer-1::score",
    ]


def test_a_suite_without_scoring_has_none(shop: Shop) -> None:
    shop.suite()

    assert not any(each.endswith("::score") for each in shop.ids())


def test_a_rubric_may_not_be_called_score(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("score")])

    result = shop.run()

    result.stdout.fnmatch_lines(["*shop.dialeval.yaml:*`score` is the name of a trial's own item*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


def recordings(*task_ids: str) -> str:
    """A tau-bench file with one short conversation a task id."""
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    return json.dumps(
        [
            {"task_id": each, "reward": 1.0, "trial": number, "traj": said}
            for number, each in enumerate(task_ids)
        ]
    )


def dialeval_traces(shop: Shop, *task_ids: str) -> None:
    """Recordings of `openai` format, which carry any task id."""
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    lines = [json.dumps({"task_id": each, "messages": said}) for each in task_ids]
    shop.write("talks.jsonl", "\n".join(lines) + "\n")
    shop.suite(
        agents=None, personas=None, transcripts=[{"format": "openai", "path": "talks.jsonl"}]
    )


def test_a_recorded_task_id_stands_in_the_personas_place(shop: Shop) -> None:
    dialeval_traces(shop, "refund_7")

    assert shop.ids() == ["shop.dialeval.yaml::refund_7-1::greet"]


def test_a_recorded_task_id_that_is_no_id_becomes_a_slug_with_a_hash(shop: Shop) -> None:
    dialeval_traces(shop, "Refund, please! #7")

    [found] = shop.ids()

    assert re.fullmatch(r"shop\.dialeval\.yaml::refund_please_7_[0-9a-f]{8}-1::greet", found)


def test_a_slug_has_at_most_forty_characters(shop: Shop) -> None:
    dialeval_traces(shop, "x" * 90, "x" * 91)

    slugs = [each.split("::")[1].removesuffix("-1") for each in shop.ids()]

    assert [len(each) for each in slugs] == [40, 40]
    assert len(set(slugs)) == 2


def test_the_record_keeps_the_original_task_id(shop: Shop) -> None:
    dialeval_traces(shop, "Refund, please! #7", "plain")

    assert shop.run().ret == 0

    personas = shop.agent_figures()["personas"]
    assert [each["original"] for each in personas] == ["Refund, please! #7", None]


def test_recordings_of_one_task_are_numbered_trials(shop: Shop) -> None:
    dialeval_traces(shop, "a", "b", "a")

    assert shop.ids() == [
        "shop.dialeval.yaml::a-1::greet",
        "shop.dialeval.yaml::a-2::greet",
        "shop.dialeval.yaml::b-1::greet",
    ]


def test_two_recorded_agents_are_shown(shop: Shop) -> None:
    shop.write("one.json", recordings("0"))
    sources = [
        {"format": "tau-bench", "path": "one.json", "agent": name} for name in ("old", "new")
    ]
    shop.suite(agents=None, personas=None, transcripts=sources)

    assert shop.ids() == [
        "shop.dialeval.yaml::old-0-1::greet",
        "shop.dialeval.yaml::new-0-1::greet",
    ]
