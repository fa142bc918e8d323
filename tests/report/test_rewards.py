"""The table of rewards."""

from __future__ import annotations

from pytest_dialeval.report.rewards import reward_lines
from pytest_dialeval.runs.summary import RewardFigures, RewardMean, TrialRewards
from tests.report.figures import agent


def rewards(*why: str, ux: float | None = 0.625) -> RewardFigures:
    return RewardFigures(
        verifier_first=RewardMean(mean=1.0, n=2),
        verifier_last=RewardMean(mean=0.5, n=2),
        ux_reward=RewardMean(mean=ux, n=0 if ux is None else 3),
        ranked_reward=RewardMean(mean=None if ux is None else ux / 2, n=2),
        trials=[
            TrialRewards(
                trial=f"t-{number}",
                persona="p",
                number=number,
                verifier_first=None,
                verifier_last=None,
                ux_reward=None,
                ranked_reward=None,
                why=each,
            )
            for number, each in enumerate(why, 1)
        ],
    )


def test_means_with_what_they_are_over() -> None:
    lines = reward_lines([("fix", agent(rewards=rewards(""))), ("chat", agent())])

    blank, head, _, row = (" ".join(text.split()) for text, _ in lines)
    assert [blank, head, row] == [
        "",
        "rewards agent trials after round 1 at the end ux reward ranked",
        "fix improved 4 1.000 (n=2) 0.500 (n=2) 0.625 (n=3) 0.312 (n=2)",
    ]


def test_what_nobody_judged_is_a_dash() -> None:
    [*_, (last, _)] = reward_lines([("fix", agent(rewards=rewards(ux=None)))])

    assert last.split()[-2:] == ["-", "-"]


def test_trials_that_are_not_ranked_are_counted_with_a_reason() -> None:
    why = "the verifier could not tell after round 3"

    [*_, last] = reward_lines([("fix", agent(rewards=rewards("", why, "x" * 500)))])

    assert last == (f"fix / improved: 2 of 4 trials not ranked: {why}", "yellow")


def test_a_long_reason_is_cut() -> None:
    [*_, (text, _)] = reward_lines([("fix", agent(rewards=rewards("word " * 500)))])

    assert text.endswith(" ...")
    assert len(text) < 300


def test_without_rewards_there_is_no_table() -> None:
    assert reward_lines([("chat", agent())]) == []
