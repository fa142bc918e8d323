"""Rewards of work over several rounds, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

from tabulate import tabulate

from pytest_dialeval.records.wording import plural
from pytest_dialeval.runs.summary import AgentFigures, RewardFigures, RewardMean

_HEADERS = ("rewards", "agent", "trials", "after round 1", "at the end", "ux reward", "ranked")
_LONGEST = 200  # characters of a reason


def reward_lines(rows: Sequence[tuple[str, AgentFigures]]) -> list[tuple[str, str]]:
    """A table over (task, agent), and what it cannot say: (line, colour); none without rewards."""
    found = [(name, agent, agent.rewards) for name, agent in rows if agent.rewards]
    if not found:
        return []
    cells = [[name, agent.name, f"{agent.trials}", *_cells(each)] for name, agent, each in found]
    table = tabulate(cells, headers=_HEADERS, tablefmt="simple", disable_numparse=True)
    lines = [("", ""), *((each, "") for each in table.splitlines())]
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


def _untold(name: str, agent: AgentFigures, rewards: RewardFigures) -> list[tuple[str, str]]:
    """Why trials have no ranked reward, though their suite asks for one."""
    why = [each.why for each in rewards.trials if each.why]
    if not why:
        return []
    first = shorten(why[0], _LONGEST, placeholder=" ...")
    text = f"{len(why)} of {plural(agent.trials, 'trial')} not ranked: {first}"
    return [(f"{name} / {agent.name}: {text}", "yellow")]
