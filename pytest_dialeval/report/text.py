"""A summary as lines of text, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from pytest_dialeval.records.text import visible
from pytest_dialeval.records.wording import plural, spending
from pytest_dialeval.report.leaderboard import leaderboard_lines
from pytest_dialeval.report.rewards import reward_lines
from pytest_dialeval.runs.summary import (
    AgentFigures,
    GateFigure,
    PassKFigure,
    SimulatorFigures,
    Summary,
    TaskFigures,
    UsageFigure,
)

MAX_K = 5  # columns of Pass^k; all k are in summary.json
LEAST_K = 2  # of them, however narrow the terminal is
FEW = "too few cases"
MAX_RUBRICS = 8  # failed rubrics named of an agent


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `colour` is one of pytest's markup names, or empty."""

    text: str
    colour: str = ""


def summary_lines(summary: Summary, width: int | None = None) -> Iterator[Line]:
    """The whole summary: counts, breaches, tables, what could not be said.

    Tables leave out columns that would not fit into `width` characters.
    """
    for line in _lines(summary, width):
        # Titles, labels and notes are the user's: none of them may steer a terminal.
        yield Line(visible(line.text).replace("\n", " "), line.colour)


def _lines(summary: Summary, width: int | None) -> Iterator[Line]:
    yield Line(counts_sentence(summary))
    yield from breach_lines(summary)
    yield from gate_lines(summary, "failed", "not decided")
    yield Line("")
    yield from (Line(each) for each in pass_table(summary, width).split("\n"))
    yield from (Line(each) for each in at_least_one_table(summary, width).splitlines())
    yield from (Line(*each) for each in reward_lines(_agents(summary)))
    if summary.ratings is not None:
        yield from (Line(*each) for each in leaderboard_lines(summary.ratings))
    yield from failed_lines(summary)
    yield from usage_lines(summary)
    yield from gate_lines(summary, "passed")
    yield from remark_lines(summary, width)
    yield from setting_lines(summary)


def counts_sentence(summary: Summary) -> str:
    """Conversations and verdicts in one sentence."""
    outcomes, verdicts = summary.outcomes, summary.verdicts
    held = sum(outcomes.model_dump().values()) - outcomes.not_run
    parts = [
        f"{number} {word}"
        for number, word in (
            (verdicts.passed, "passed"),
            (verdicts.failed, "failed"),
            (verdicts.soft_failed, "soft-failed"),
            (verdicts.not_applicable, "not applicable"),
            (verdicts.unmeasured, "unmeasured"),
            (verdicts.not_run, "not run"),
        )
        if number
    ]
    noun = "conversation" if held == 1 else "conversations"
    stopped = f" ({outcomes.cancelled} stopped before the end)" if outcomes.cancelled else ""
    return f"{held} {noun}{stopped}; rubrics: {', '.join(parts) or 'none'}"


def breach_lines(summary: Summary) -> Iterator[Line]:
    """Safety first."""
    for name, agent in _agents(summary):
        if not agent.safety_breaches:
            continue
        rubrics = [
            f"{each.id} ({each.n - each.passed})"
            for each in agent.rubrics
            if each.dimension == "safety" and each.n > each.passed
        ]
        yield Line(
            f"SAFETY: {name} / {agent.name}: {agent.safety_breaches} of {agent.trials} "
            f"trials breached: {', '.join(rubrics)}",
            "red",
        )


def pass_table(summary: Summary, width: int | None = None) -> str:
    """Task, agent, cases, trials, score, Pass^1..k with the interval of Pass^1 where there is one.

    Below it, in one line, why there is none.
    """
    table = _pass_table(summary, _shown_ks(summary, width))
    few = "no interval of Pass^1: too few cases"
    return f"{table}\n{few}" if _without_interval(summary) and FEW in _intervals(summary) else table


def _pass_table(summary: Summary, ks: Sequence[int]) -> str:
    rows = _agents(summary)
    headers = ["task", "agent", "cases", "trials", "score", *(f"Pass^{k}" for k in ks)]
    cells = [_row(name, agent, ks) for name, agent in rows]
    if not _without_interval(summary):
        headers.append("95 % of Pass^1")
        for each, told in zip(cells, _intervals(summary), strict=True):
            each.append(told)
    return _table(headers, cells)


def _intervals(summary: Summary) -> list[str]:
    return [interval(agent.pass_hat_k.get("1")) for _, agent in _agents(summary)]


def _without_interval(summary: Summary) -> bool:
    return all(each in (FEW, "-") for each in _intervals(summary))


def _table(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart; tabulate's own headers would take four."""
    lines = tabulate([headers, *cells], tablefmt="simple", disable_numparse=True).split("\n")
    rule, head, *rows = lines[:-1]
    return "\n".join((head, rule, *rows))


def at_least_one_table(summary: Summary, width: int | None = None) -> str:
    """pass@1..k, where a case has more than one trial; never to be taken for Pass^k."""
    rows = [(name, agent) for name, agent in _agents(summary) if len(agent.pass_at_k) > 1]
    if not rows:
        return ""
    widest = max(len(agent.pass_at_k) for _, agent in rows)
    return "\n" + _fitting(lambda most: _at_least_one(rows, _columns(widest, most)), width)


def _at_least_one(rows: Sequence[tuple[str, AgentFigures]], ks: Sequence[int]) -> str:
    headers = ["at least one of k", "agent", *(f"pass@{k}" for k in ks)]
    cells = [
        [name, agent.name, *(_both_readings(agent.pass_at_k.get(str(k))) for k in ks)]
        for name, agent in rows
    ]
    return _table(headers, cells)


def _shown_ks(summary: Summary, width: int | None) -> list[int]:
    """The k that the table of Pass^k has columns for."""
    widest = max((len(agent.pass_hat_k) for _, agent in _agents(summary)), default=0)
    most = _most_columns(lambda most: _pass_table(summary, _columns(widest, most)), width)
    return _columns(widest, most)


def _fitting(table: Callable[[int], str], width: int | None) -> str:
    return table(_most_columns(table, width))


def _most_columns(table: Callable[[int], str], width: int | None) -> int:
    """How many columns of k fit: at least the first and the last are shown."""
    for most in range(MAX_K, LEAST_K, -1):
        if width is None or max(map(len, table(most).split("\n"))) <= width:
            return most
    return LEAST_K


def _columns(widest: int, most: int) -> list[int]:
    """All, or the first and the last."""
    ks = list(range(1, widest + 1))
    return ks if widest <= most else [*ks[: most - 1], widest]


def _row(name: str, agent: AgentFigures, ks: Sequence[int]) -> list[str]:
    unmeasured = f" ({agent.unmeasured} unmeasured)" if agent.unmeasured else ""
    return [
        name,
        agent.name,
        str(agent.cases),
        f"{agent.trials}{unmeasured}",
        number(agent.task_score_mean),
        *(_both_readings(agent.pass_hat_k.get(str(k))) for k in ks),
    ]


def failed_lines(summary: Summary) -> Iterator[Line]:
    """What to mend first: each agent's failed rubrics, most often failed first."""
    for name, agent in _agents(summary):
        failed = [each for each in agent.rubrics if each.n > each.passed]
        failed.sort(key=lambda each: each.passed - each.n)
        shown = [f"{each.id} {each.n - each.passed} of {each.n}" for each in failed[:MAX_RUBRICS]]
        if shown:
            more = f" and {len(failed) - MAX_RUBRICS} more" if len(failed) > MAX_RUBRICS else ""
            yield Line(f"{name} / {agent.name} failed: {', '.join(shown)}{more}")


def usage_lines(summary: Summary) -> Iterator[Line]:
    """What models took, by role, and what of the budget is left."""
    for each in summary.usage:
        model = ", ".join(dict.fromkeys(_playing(summary, each.role)))
        yield Line(f"{each.role}{f' ({model})' if model else ''}: {_took(each)}")
    if summary.budget:
        standing = "; ".join(
            spending(each.name, each.limit, each.spent, each.left) for each in summary.budget
        )
        spent = any(each.left <= 0 for each in summary.budget)
        yield Line(f"budget: {standing}", "yellow" if spent else "")


def _playing(summary: Summary, role: str) -> Iterator[str]:
    for _, agent in _agents(summary):
        if role in agent.models:
            yield agent.models[role]
    if role == "comparer" and summary.ratings and summary.ratings.comparer:
        yield summary.ratings.comparer


def _took(usage: UsageFigure) -> str:
    parts = []
    if usage.calls or usage.failed:
        parts.append(plural(usage.calls + usage.failed, "call"))
        if usage.failed:
            parts.append(f"{usage.failed} failed")
        parts += [_tokens(usage), _cost(usage), f"{usage.seconds:.1f} s"]
    if usage.replayed:
        parts.append(f"{usage.replayed} replayed from a cassette")
    return ", ".join(parts)


def _tokens(usage: UsageFigure) -> str:
    told = ["unknown" if n is None else str(n) for n in (usage.input_tokens, usage.output_tokens)]
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return f"{told[0]} tokens in{cached}, {told[1]} out"


def _cost(usage: UsageFigure) -> str:
    if usage.cost_usd is not None:
        return f"${usage.cost_usd:.4f}"
    if usage.cost_usd_known:
        return f"${usage.cost_usd_known:.4f} and {usage.cost_unknown} of unknown cost"
    return "cost unknown"


def titles(summary: Summary) -> list[str]:
    """How each task is called: by its id, and by what tells it apart from its namesakes."""
    ids = [each.id for each in summary.tasks if "::" not in each.source]
    return [title(each, alone=ids.count(each.id) < 2) for each in summary.tasks]


def title(task: TaskFigures, *, alone: bool) -> str:
    """The task; the function where a decorated test asked for it, else the suite if need be."""
    file, colons, function = task.source.rpartition("::")
    words = task.id
    if colons:
        words = f"{task.id} ({function})"
    elif not alone:
        words = f"{task.id} ({function or file})"
    return " ".join(visible(words).split())


def number(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def _both_readings(figure: PassKFigure | None) -> str:
    """`.420`; where trials are unmeasured also the pessimistic reading behind a slash."""
    if figure is None or (figure.value is None and figure.value_pessimistic is None):
        return "-"
    if figure.value == figure.value_pessimistic:
        return number(figure.value)
    return f"{number(figure.value)} / {number(figure.value_pessimistic)}"


def interval(figure: PassKFigure | None) -> str:
    """`.29 to .55`, or why there is none."""
    if figure is None or figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return FEW
    return f"{figure.low:.3f} to {figure.high:.3f}"


def gate_lines(summary: Summary, *statuses: str) -> Iterator[Line]:
    """Gates of those statuses, each with its figure, bound and n."""
    colours = {"failed": "red", "not decided": "yellow", "passed": "green"}
    for status in statuses:
        for gate in summary.gates:
            # What nobody asked for and nothing misses is no news.
            is_news = status != "passed" or gate.source != "default"
            if gate.status == status and is_news:
                yield Line(gate_sentence(gate), colours[gate.status])


def gate_sentence(gate: GateFigure) -> str:
    """`gate pass_hat_k (k=3) of airline / good: MISSED: 0.22, wanted at least 0.5, n=200, ...`."""
    k = f" (k={gate.k})" if gate.k else ""
    wanted = "at least" if gate.name in ("pass_hat_k", "mean_score") else "at most"
    if gate.name == "baseline":
        return _baseline_sentence(gate)
    bound = float(gate.bound)
    figure = "no figure" if gate.figure is None else _told_apart(gate.figure, bound)
    words = {"passed": "held", "failed": "MISSED", "not decided": "not decided"}[gate.status]
    if gate.name == "distinct_models":  # a count of roles says less than their names
        said = gate.why or "every role has a model of its own"
        whose = f"{gate.task} / {gate.agent}"
        return f"gate {gate.name} of {whose}: {words} ({said}), set by {gate.source}"
    why = f" ({gate.why})" if gate.why else ""
    return (
        f"gate {gate.name}{k} of {gate.task} / {gate.agent}: {words}{why}: "
        f"{figure}, wanted {wanted} {_figure(bound)}, n={gate.n}, set by {gate.source}"
    )


def _baseline_sentence(gate: GateFigure) -> str:
    """The same; without a threshold a test decides, and a small fall may well hold."""
    figure = "no figure" if gate.figure is None else f"{gate.figure:+.3f}"
    wanted = f"at least {gate.bound:+.3f}" if gate.bound else "not worse"
    words = {"passed": "held", "failed": "MISSED", "not decided": "not decided"}[gate.status]
    return (
        f"gate baseline of {gate.task} / {gate.agent}: {words} ({gate.why}): "
        f"{figure}, wanted {wanted}, n={gate.n}, set by {gate.source}"
    )


def _figure(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _told_apart(figure: float, bound: float) -> str:
    """The figure; in full where rounding would hide on which side of the bound it is."""
    exact, shown = round(figure, 12), _figure(figure)
    return repr(exact) if exact != bound and shown == _figure(bound) else shown


def remark_lines(summary: Summary, width: int | None = None) -> Iterator[Line]:
    """What the table cannot say."""
    if summary.outcomes.not_run:
        many = "trial" if summary.outcomes.not_run == 1 else "trials"
        text = f"{summary.outcomes.not_run} {many} did not run: these figures are not final"
        yield Line(text, "yellow")
    ks = _shown_ks(summary, width)
    for name, agent in _agents(summary):
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


def simulator_lines(summary: Summary) -> Iterator[Line]:
    """How faithfully each model played the user: what it said, and what could not be sent."""
    played: dict[str | None, list[SimulatorFigures]] = {}
    for _, agent in _agents(summary):
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
    inside = dict.fromkeys(agent.name for _, agent in _agents(summary) if not agent.isolated)
    if inside:
        who = "the agent runs" if len(inside) == 1 else "they run"
        yield Line(f"{', '.join(inside)}: not isolated, {who} in this process")


def _shared_model_lines(summary: Summary) -> Iterator[Line]:
    """A model that judges itself is a lenient judge."""
    told: dict[str, None] = {}
    for _, agent in _agents(summary):
        for model in dict.fromkeys(agent.models.values()):
            roles = [role for role, each in agent.models.items() if each == model]
            if len(roles) > 1:
                told[f"{agent.name}: {' and '.join(roles)} are one model, {model}"] = None
        comparer = summary.ratings and summary.ratings.comparer
        if comparer and agent.models.get("agent") == comparer:
            told[f"{agent.name}: agent and comparer are one model, {comparer}"] = None
    yield from (Line(each, "yellow") for each in told)


def _short_cases(agent: AgentFigures) -> Iterator[str]:
    """`Pass^3..4 over 49 of 50 cases`: cases with fewer than k trials leave the mean."""
    short = [(int(k), each) for k, each in agent.pass_hat_k.items() if each.cases < each.of_cases]
    for cases in dict.fromkeys(each.cases for _, each in short):
        ks = [k for k, each in short if each.cases == cases]
        span = f"{ks[0]}..{ks[-1]}" if len(ks) > 1 else str(ks[0])
        yield f"Pass^{span} over {cases} of {short[0][1].of_cases} cases"


def setting_lines(summary: Summary) -> Iterator[Line]:
    """Where each value that is not the default came from."""
    if summary.settings:
        shown = (
            f"{name} = {_plain(each.value)} ({each.source})"
            for name, each in summary.settings.items()
        )
        yield Line(f"settings: {'; '.join(shown)}")


def _plain(value: object) -> str:
    """As it was written, not as Python shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _agents(summary: Summary) -> Sequence[tuple[str, AgentFigures]]:
    """(name of the task, figures of one of its agents)."""
    named = zip(titles(summary), summary.tasks, strict=True)
    return [(name, agent) for name, task in named for agent in task.agents]
