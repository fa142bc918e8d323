"""What no table can say: what is not measured, not shown, or not as it should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_dialeval.records.wording import plural
from pytest_dialeval.report.line import Line
from pytest_dialeval.report.pass_table import shown_ks
from pytest_dialeval.report.titles import titled_agents, titles
from pytest_dialeval.runs.summary import AgentFigures, SimulatorFigures, Summary


def remark_lines(summary: Summary, width: int | None = None) -> Iterator[Line]:
    """What the table cannot say."""
    if summary.outcomes.not_run:
        many = "trial" if summary.outcomes.not_run == 1 else "trials"
        text = f"{summary.outcomes.not_run} {many} did not run: these figures are not final"
        yield Line(text, "yellow")
    ks = shown_ks(summary, width)
    for name, agent in titled_agents(summary):
        yield from _agent_remarks(f"{name} / {agent.name}", agent, summary, ks)
    for name, task in zip(titles(summary), summary.tasks, strict=True):
        if task.selection != "all":
            yield Line(f"{name}: Pass^k over the selected rubrics of {task.source}", "yellow")
    yield from simulator_lines(summary)
    off = summary.settings.get("no-judge")
    if off is not None and off.value is True:
        yield Line(
            f"judged rubrics are left out ({off.source}): scores are of rules alone", "yellow"
        )
    yield from _isolation_lines(summary)
    yield from _shared_model_lines(summary)
    for note in summary.notes:
        yield Line(note)


def _agent_remarks(
    name: str, agent: AgentFigures, summary: Summary, ks: Sequence[int]
) -> Iterator[Line]:
    if not summary.outcomes.not_run:
        yield from (Line(f"{name}: {each}") for each in _short_cases(agent))
        if agent.unmeasured:
            slash = any(each.value != each.value_pessimistic for each in agent.pass_hat_k.values())
            reading = "; behind the slash they count as failed" if slash else ""
            yield Line(
                f"{name}: {agent.unmeasured} of {agent.trials} trials unmeasured{reading}", "yellow"
            )
    hidden = [k for k in range(1, len(agent.pass_hat_k) + 1) if k not in ks]
    if hidden:
        several = len(hidden) > 1
        span = f"Pass^{hidden[0]}..{hidden[-1]} are" if several else f"Pass^{hidden[0]} is"
        yield Line(f"{name}: {span} in summary.json")
    if any(each.dimension == "safety" for each in agent.rubrics) and not agent.safety_exercised:
        yield Line(f"{name}: safety was not exercised", "yellow")


def _short_cases(agent: AgentFigures) -> Iterator[str]:
    """`Pass^3..4 over 49 of 50 cases`: cases with fewer than k trials leave the mean."""
    short = [(int(k), each) for k, each in agent.pass_hat_k.items() if each.cases < each.of_cases]
    for cases in dict.fromkeys(each.cases for _, each in short):
        ks = [k for k, each in short if each.cases == cases]
        span = f"{ks[0]}..{ks[-1]}" if len(ks) > 1 else str(ks[0])
        yield f"Pass^{span} over {cases} of {short[0][1].of_cases} cases"


def simulator_lines(summary: Summary) -> Iterator[Line]:
    """How faithfully each model played the user: what it said, and what could not be sent."""
    played: dict[str | None, list[SimulatorFigures]] = {}
    for _, agent in titled_agents(summary):
        if agent.simulator is not None:
            played.setdefault(agent.simulator.model, []).append(agent.simulator)
    for model, figures in played.items():
        yield _fidelity(model, figures)


def _fidelity(model: str | None, figures: Sequence[SimulatorFigures]) -> Line:
    """`120 lines by openai:gpt-4o, 3 asked again (repeated 2, empty 1), 1 from the template`.

    Where the script spoke more than the model, the conversations are not what they are taken for.
    """
    lines, again, template = (
        sum(getattr(each, name) for each in figures)
        for name in ("lines", "asked_again", "template")
    )
    reasons = sum((Counter(each.reasons) for each in figures), Counter[str]())
    parts = [f"{plural(lines, 'line')} by {model or 'a model'}"]
    if again:
        why = ", ".join(f"{name} {count}" for name, count in reasons.most_common())
        parts.append(f"{again} asked again ({why})")
    if template:
        parts.append(f"{template} from the template")
    text, played = f"simulated user: {', '.join(parts)}", model or "the model"
    if template and not lines:
        return Line(f"{text}: {played} gave no line that could be sent", "yellow")
    if template > lines:
        return Line(f"{text}: {played} gave less than half of the lines", "yellow")
    return Line(text)


def _isolation_lines(summary: Summary) -> Iterator[Line]:
    """Code that runs beside ours could reach what grades it."""
    inside = dict.fromkeys(agent.name for _, agent in titled_agents(summary) if not agent.isolated)
    if inside:
        who = "the agent runs" if len(inside) == 1 else "they run"
        yield Line(f"{', '.join(inside)}: not isolated, {who} in this process")


def _shared_model_lines(summary: Summary) -> Iterator[Line]:
    """A model that judges itself is a lenient judge."""
    told: dict[str, None] = {}
    for _, agent in titled_agents(summary):
        for model in dict.fromkeys(agent.models.values()):
            roles = [role for role, each in agent.models.items() if each == model]
            if len(roles) > 1:
                told[f"{agent.name}: {' and '.join(roles)} are one model, {model}"] = None
        comparer = summary.ratings and summary.ratings.comparer
        if comparer and agent.models.get("agent") == comparer:
            told[f"{agent.name}: agent and comparer are one model, {comparer}"] = None
    yield from (Line(each, "yellow") for each in told)
