"""Rewards of work over several rounds, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from pytest_dialeval.records.wording import plural
from pytest_dialeval.report.line import Line
from pytest_dialeval.report.table import plain_table
from pytest_dialeval.runs.summary import AgentFigures, RewardFigures, RewardMean

_HEADERS = ("rewards", "agent", "trials", "after round 1", "at the end", "ux reward", "ranked")
_LONGEST = 200  # characters of a reason


def reward_lines(rows: Sequence[tuple[str, AgentFigures]]) -> list[Line]:
    """A table over (task, agent), and what it cannot say; none without rewards."""
    found = [(name, agent, agent.rewards) for name, agent in rows if agent.rewards]
    if not found:
        return []
    cells = [[name, agent.name, f"{agent.trials}", *_cells(each)] for name, agent, each in found]
    lines = [Line(""), *map(Line, plain_table(_HEADERS, cells).splitlines())]
    return [*lines, *(line for name, agent, each in found for line in _untold(name, agent, each))]


def _cells(rewards: RewardFigures) -> list[str]:
    means = (
        rewards.verifier_first,
        rewards.verifier_last,
        rewards.ux_reward,
        rewards.ranked_reward,
    )
    return [_mean(each) for each in means]


def _mean(figure: RewardMean) -> str:
    """`0.500 (n=2)`: over the trials that have it."""
    return "-" if figure.mean is None else f"{figure.mean:.3f} (n={figure.n})"


def _untold(name: str, agent: AgentFigures, rewards: RewardFigures) -> list[Line]:
    """Why trials have no ranked reward, though their suite asks for one."""
    why = [each.why for each in rewards.trials if each.why]
    if not why:
        return []
    first = shorten(why[0], _LONGEST, placeholder=" ...")
    text = f"{len(why)} of {plural(agent.trials, 'trial')} not ranked: {first}"
    return [Line(f"{name} / {agent.name}: {text}", "yellow")]
