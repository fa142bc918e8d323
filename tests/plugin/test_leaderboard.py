"""What a run with two agents says of them, at its end and when people have voted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_dialeval.cli import main

from .conftest import Shop, persona, rubric

ROOT = Path(__file__).resolve().parents[2]
MUTE = 'otherwise: ["Dunno."]'
AGENTS = {
    "mute": {"use": "scripted", "script": "mute.yaml"},
    "clerk": {"use": "scripted", "script": "clerk.yaml"},
}


@pytest.fixture
def two(shop: Shop) -> Shop:
    shop.write("mute.yaml", MUTE)
    return shop


def dialeval(*arguments: str) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert "Traceback" not in result.output
    return result


# ---- the terminal


def test_the_best_mean_score_stands_first(two: Shop) -> None:
    two.suite(agents=AGENTS, trials=2)

    result = two.run()

    result.stdout.fnmatch_lines(
        [
            "task *Pass^1*Pass^2*",
            "leaderboard  tasks   score  95 % of score  Elo by score",
            "clerk        1 of 1  1.000  too few cases  1030.5",
            "mute         1 of 1  0.000  too few cases  969.5",
            "clerk *1030.5*separated: never loses *2-0-0",
            "mute *969.5*separated: never wins *0-0-2",
            "2 matches (mute - clerk 2); K 32, from 1000, scale 400",
            "too few cases for an interval: mute - clerk",
        ]
    )
    assert [each["agent"] for each in two.summary["ratings"]["leaderboard"]] == ["clerk", "mute"]


def test_one_agent_has_no_leaderboard(two: Shop) -> None:
    two.suite()

    assert not [each for each in two.run().outlines if each.startswith("leaderboard ")]


def test_one_match(two: Shop) -> None:
    two.suite(agents=AGENTS)

    result = two.run()

    result.stdout.fnmatch_lines(["1 match (mute - clerk 1); *"])


def test_all_ties(two: Shop) -> None:
    two.suite(agents={**AGENTS, "mute": AGENTS["clerk"]}, trials=3)

    result = two.run()

    result.stdout.fnmatch_lines(["mute *1000.0*1000.0*1000.0*too few cases*0-3-0"])


def test_from_ten_cases_on_there_are_intervals(two: Shop) -> None:
    asking = [persona(f"asks{number}") for number in range(8)]
    chatting = [persona(f"chats{number}", "Nice day.", "Bye.") for number in range(4)]
    two.suite(agents=AGENTS, personas=[*asking, *chatting], rubrics=[rubric("said", "stock")])

    result = two.run()

    clerk = two.summary["ratings"]["leaderboard"][0]
    assert clerk["task_score"] == pytest.approx(8 / 12)
    assert clerk["low"] < 8 / 12 < clerk["high"]
    [found, _] = two.summary["ratings"]["ratings"]
    assert (found["clustered_by"], found["clusters"]) == ("case", 12)
    assert found["pairs"][0]["separated"] is True
    assert "too few cases for an interval" not in result.stdout.str()


def test_intervals_that_overlap_are_not_separated(two: Shop) -> None:
    people = [persona(f"asks{number}") for number in range(5)]
    people += [persona(f"chats{number}", "Nice day.", "Bye.") for number in range(5)]
    either = {"any": [{"keyword": {"any": ["stock"]}}, {"keyword": {"any": ["weather"]}}]}
    two.write("mute.yaml", 'replies:\n  - {when: {keyword: {any: [day]}}, say: ["Fine weather."]}\n'
              'otherwise: ["Dunno."]')  # fmt: skip
    two.suite(agents=AGENTS, personas=people, rubrics=[rubric("said", keyword=None, **either)])

    result = two.run()

    result.stdout.fnmatch_lines(
        ["scores not separated: mute - clerk", "not separated: mute - clerk"]
    )


def test_an_agent_that_did_not_play_all_tasks_is_marked(two: Shop) -> None:
    two.suite(agents=AGENTS)
    two.suite("other", task={"id": "other", "max_rounds": 4})

    result = two.run()

    result.stdout.fnmatch_lines(
        [
            "clerk *2 of 2 *",
            "mute *1 of 2 [*] *",
            "[*] not all tasks: its mean is over other tasks than *' means",
        ]
    )
    rows = {each["agent"]: each for each in two.summary["ratings"]["leaderboard"]}
    assert (rows["mute"]["tasks"], rows["mute"]["of_tasks"]) == (1, 2)


def test_agents_that_never_meet(two: Shop) -> None:
    two.suite(agents={"clerk": AGENTS["clerk"]})
    two.suite("other", task={"id": "other", "max_rounds": 4}, agents={"mute": AGENTS["mute"]})

    result = two.run()

    result.stdout.fnmatch_lines(["0 matches (mute - clerk 0); *", "no match: mute - clerk"])


def test_suites_that_rate_otherwise_have_no_common_mean(two: Shop) -> None:
    two.suite(agents=AGENTS)
    two.suite("other", task={"id": "other", "max_rounds": 4}, agents=AGENTS, compare={"k": 4})

    result = two.run()

    result.stdout.fnmatch_lines(["suites differ in `compare`: their ratings have no common mean"])
    [found, _] = two.summary["ratings"]["ratings"]
    assert found["k"] is None
    assert [each["elo"]["clerk"] for each in found["tasks"]] == [1002, 1016]


def test_the_mean_is_over_tasks_and_not_over_matches(two: Shop) -> None:
    two.suite(agents=AGENTS, trials=1)
    two.suite("other", task={"id": "other", "max_rounds": 4}, agents=AGENTS, trials=3)

    two.run()

    [found, _] = two.summary["ratings"]["ratings"]
    elo = {each["agent"]: each["elo"] for each in found["agents"]}
    each_task = [task["elo"]["clerk"] for task in found["tasks"]]
    assert elo["clerk"] == pytest.approx(sum(each_task) / 2)


def test_the_example_ends_with_both_tables(tmp_path: Path) -> None:
    """Offline, in a process of its own, as its page says."""
    arguments = ["--dialeval-agent", "baseline", "--dialeval-agent", "improved", "-q", "--tb=no"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "dialeval", "-p", "no:cacheprovider",
         "--dialeval-runs", str(tmp_path), *arguments, "example_suites/live_upgrade"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    lines = found.stdout.splitlines()
    assert any("Pass^1" in each and "Pass^3" in each for each in lines), found.stdout[-3000:]
    [title] = [number for number, each in enumerate(lines) if each.startswith("leaderboard")]
    assert lines[title + 2].split()[:5] == ["improved", "2", "of", "2", "1.000"]
    # The judged suite beside it declares no baseline.
    assert lines[title + 3].split()[:5] == ["baseline", "1", "of", "2", "*"]


# ---- people


def open_votes(two: Shop) -> list[dict[str, Any]]:
    result = dialeval("votes", "export", "--run", two.last_run.name, "--open")
    assert result.exit_code == 0, result.output
    return [json.loads(each) for each in result.output.splitlines()]


def cast(two: Shop, *votes: dict[str, Any]) -> Path:
    """A file of votes; what a vote leaves open is said by ann, a second after the one before."""
    lines = []
    for number, each in enumerate(votes):
        said = {"voter": "ann", "time": f"2026-11-30T10:00:{number:02}+00:00"}
        lines.append(json.dumps({**each, **{key: each.get(key) or said[key] for key in said}}))
    return two.write("votes.jsonl", "\n".join(lines) + "\n")


def taken(two: Shop, *votes: dict[str, Any]) -> Result:
    return dialeval("votes", "import", str(cast(two, *votes)), "--run", two.last_run.name)


def human(two: Shop) -> Any:
    found = [each for each in two.summary["ratings"]["ratings"] if each["by"] == "human"]
    return found[0] if found else None


@pytest.fixture
def voted_on(two: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:
    two.suite(agents=AGENTS, trials=2)
    two.run()
    monkeypatch.chdir(two.path)
    return two


def test_votes_go_in_are_rated_and_come_out(voted_on: Shop) -> None:
    votes = [{**each, "choice": "B"} for each in open_votes(voted_on)]
    assert len(votes) == 4  # two trials of two rounds

    result = taken(voted_on, *votes)

    assert result.exit_code == 0, result.output
    assert result.output == f"4 votes taken into run {voted_on.last_run.name}\n"
    rated = dialeval("votes", "rate", "--run", voted_on.last_run.name)
    assert rated.exit_code == 0, rated.output
    assert "Elo by people" in rated.output
    assert {each["agent"]: each["wins"] for each in human(voted_on)["agents"]} == {
        "mute": 0,
        "clerk": 4,
    }
    [first, _] = voted_on.summary["ratings"]["leaderboard"]
    assert first["elo"].keys() == {"score", "human"}
    out = dialeval("votes", "export", "--run", voted_on.last_run.name).output
    assert [json.loads(each)["choice"] for each in out.splitlines()] == ["B"] * 4


def test_what_was_not_voted_on_yet_is_counted(voted_on: Shop) -> None:
    first, *rest = open_votes(voted_on)

    result = taken(voted_on, {**first, "choice": "tie"}, *rest)

    assert result.output == f"1 vote taken into run {voted_on.last_run.name}, 3 not cast yet\n"


def test_whoever_stood_left_is_rated_by_name(voted_on: Shop) -> None:
    first = open_votes(voted_on)[0]
    digests = {"left": first["digests"]["right"], "right": first["digests"]["left"]}
    turned = {**first, "left": first["right"], "right": first["left"], "digests": digests}

    taken(voted_on, {**turned, "choice": "A"})
    dialeval("votes", "rate", "--run", voted_on.last_run.name)

    assert {each["agent"]: each["wins"] for each in human(voted_on)["agents"]}["clerk"] == 1


def test_a_vote_that_supersedes_takes_the_place_of_the_first(voted_on: Shop) -> None:
    first = {**open_votes(voted_on)[0], "choice": "A"}

    taken(voted_on, first, {**first, "id": "second", "choice": "B", "supersedes": first["id"]})
    dialeval("votes", "rate", "--run", voted_on.last_run.name)

    assert human(voted_on)["matches"] == 1
    assert {each["agent"]: each["wins"] for each in human(voted_on)["agents"]}["clerk"] == 1
    stored = (voted_on.last_run / "votes.jsonl").read_text(encoding="utf-8")
    assert len(stored.splitlines()) == 2  # nothing is taken away


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"left": "clark"}, "'clark' is no agent of task 'shop' (there are: mute, clerk); did you"),
        ({"task": "shops"}, "'shops' is no task (there are: shop); did you mean 'shop'?"),
        ({"case": "nobody"}, "did not meet in case 'nobody', trial 1"),
        ({"trial": 9}, "did not meet in case 'buyer', trial 9"),
        ({"round": 9}, "round 9 was not reached by both agents"),
        ({"digests": {"left": "a", "right": "b"}}, "its digests are stale"),
        ({"choice": "both_bad"}, "'both_bad' is no choice in this run: vote tie; a suite with"),
        ({"choice": "C"}, "choice must be one of A, B, tie, both_bad, not 'C'"),
        ({"time": "yesterday"}, "time must be a time with its zone"),
        ({"time": "2026-11-30T10:00:00"}, "time must be a time with its zone"),
        ({"round": 0}, "round must be a whole number of at least 1, not 0"),
        ({"trial": None}, "trial must be a whole number of at least 1, not None"),
        ({"id": ""}, "id must be text, not ''"),
        ({"supersedes": "gone"}, "it supersedes 'gone', which is no earlier vote of 'ann'"),
        ({"chioce": "A"}, "'chioce' is no key of a vote; did you mean 'choice'?"),
        ({"evaluation": "ffff"}, "1 vote of evaluation 'ffff' left out: this run is"),
    ],
)  # fmt: skip
def test_a_vote_that_cannot_count_is_named_and_spoils_no_other(
    voted_on: Shop, change: dict[str, Any], why: str
) -> None:
    good, bad, *_ = ({**each, "choice": "A"} for each in open_votes(voted_on))

    result = taken(voted_on, good, {**bad, **change})

    assert result.exit_code == 1
    told, summary = result.output.splitlines()
    assert why in told
    assert told.startswith(("votes.jsonl:", str(voted_on.path / "votes.jsonl")))
    assert summary == f"1 vote taken into run {voted_on.last_run.name}"


def test_not_a_number_and_no_json(voted_on: Shop) -> None:
    path = voted_on.write("votes.jsonl", '{"trial": NaN}\n[1]\n')

    result = dialeval("votes", "import", str(path), "--run", voted_on.last_run.name)

    first, second, summary = result.output.splitlines()
    assert "votes.jsonl:1: the line is no JSON" in first
    assert "votes.jsonl:2: a vote is a JSON object, not [1]" in second
    assert summary.startswith("0 votes")


def test_duplicates_are_named_and_left_out(voted_on: Shop) -> None:
    vote = {**open_votes(voted_on)[0], "choice": "A"}
    taken(voted_on, vote)

    twice = taken(voted_on, vote)
    same_voter = taken(voted_on, {**vote, "id": "other", "time": "2026-12-01T00:00:00Z"})

    assert "its id stands at" in twice.output
    assert f"'ann' has voted on this by {vote['id']!r}" in same_voter.output
    assert len((voted_on.last_run / "votes.jsonl").read_text("utf-8").splitlines()) == 1


def test_votes_follow_their_times_and_not_their_lines(voted_on: Shop) -> None:
    one, other, *_ = ({**each, "choice": "tie"} for each in open_votes(voted_on))
    won = {**one, "choice": "B", "time": "2026-11-30T12:00:00+00:00"}
    earlier = {**other, "time": "2026-11-30T12:30:00+02:00"}

    taken(voted_on, won, earlier)
    dialeval("votes", "rate", "--run", voted_on.last_run.name)

    # A tie between equals moves nothing; after a win it would.
    elo = {each["agent"]: each["elo"] for each in human(voted_on)["agents"]}
    assert elo == {"mute": 984, "clerk": 1016}


def test_both_bad_is_a_tie_that_is_counted_apart(
    two: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.suite(agents=AGENTS, votes={"both_bad": True})
    two.run()
    monkeypatch.chdir(two.path)

    taken(two, *({**each, "choice": "both_bad"} for each in open_votes(two)))
    rated = dialeval("votes", "rate", "--run", two.last_run.name)

    assert "2 ties called bad on both sides" in rated.output
    assert human(two)["both_bad"] == 2


def test_a_trace_that_changed_makes_its_votes_those_of_another_evaluation(voted_on: Shop) -> None:
    taken(voted_on, {**open_votes(voted_on)[0], "choice": "A"})
    trace = next((voted_on.last_run / "traces").glob("*clerk.buyer-1*.jsonl"))
    trace.write_text(trace.read_text("utf-8").replace("lamp", "lump"), encoding="utf-8")

    rated = dialeval("votes", "rate", "--run", voted_on.last_run.name)

    assert "is left out: it is of evaluation" in rated.output
    assert human(voted_on) is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("rate", "--run", "nothing"), "there is no run 'nothing'"),
        (("export", "--run", "nothing"), "there is no run 'nothing'"),
    ],
)
def test_runs_that_are_not_there(voted_on: Shop, arguments: tuple[str, ...], why: str) -> None:
    result = dialeval("votes", *arguments)

    assert result.exit_code == 1
    assert why in result.output


def test_without_a_name_it_is_the_last_run(voted_on: Shop) -> None:
    voted_on.run()

    result = dialeval("votes", "import", str(cast(voted_on)))

    assert result.output == f"0 votes taken into run {voted_on.last_run.name}\n"
    assert "there is no run in gone" in dialeval("votes", "rate", "--runs", "gone").output


def test_a_run_of_one_agent_has_nothing_to_rate(two: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    two.suite()
    two.run()
    monkeypatch.chdir(two.path)

    result = dialeval("votes", "rate", "--run", two.last_run.name)

    assert result.exit_code == 1
    assert "has fewer than two agents" in result.output


def test_a_run_that_is_not_over(voted_on: Shop) -> None:
    (voted_on.last_run / "summary.json").unlink()

    result = dialeval("votes", "rate", "--run", voted_on.last_run.name)

    assert "has no summary.json" in result.output


def test_nothing_of_a_vote_steers_the_terminal(voted_on: Shop) -> None:
    vote = {**open_votes(voted_on)[0], "choice": "A", "task": "\x1b[31mred\u202e"}

    result = taken(voted_on, vote)

    assert "\x1b" not in result.output
    assert "\u202e" not in result.output


def test_a_file_taken_in_twice_is_not_told_vote_by_vote(voted_on: Shop) -> None:
    first = {**open_votes(voted_on)[0], "choice": "A"}
    votes = [{**first, "id": f"v{number}", "voter": f"p{number}"} for number in range(30)]
    assert taken(voted_on, *votes).exit_code == 0

    result = taken(voted_on, *votes)

    assert result.exit_code == 1
    *named, more, summary = result.output.splitlines()
    assert len(named) == 20
    assert (more, summary) == (
        "... and 10 lines more",
        f"0 votes taken into run {voted_on.last_run.name}",
    )
