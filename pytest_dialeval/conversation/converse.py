"""One conversation, from the first word to the last, and how it ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from copy import deepcopy
from typing import Any
from uuid import uuid4

from pytest_dialeval.conversation.agent import AgentFactory, Brief, slot
from pytest_dialeval.conversation.agent_task import AgentTask
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.current import CurrentCase, current_case, current_conversation
from pytest_dialeval.conversation.inline_agent import InlineAgent, ours
from pytest_dialeval.conversation.scribe import Ending, Scribe
from pytest_dialeval.conversation.site import Site
from pytest_dialeval.conversation.talk import Talk
from pytest_dialeval.conversation.user import SimulatedUser, Simulator
from pytest_dialeval.conversation.work import Work
from pytest_dialeval.errors import (
    AgentFault,
    BudgetSpent,
    DialevalError,
    NotMeasured,
    ProviderFault,
    SimulatorFault,
)
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import Persona, Task
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES, Outcome, Transcript
from pytest_dialeval.traces.writer import TraceWriter

CANCELLED = Ending("cancelled", "the conversation was cancelled")

logger = logging.getLogger(__name__)


async def converse(
    task: Task,
    persona: Persona,
    agent: AgentFactory,
    *,
    draw: Draw,
    matchers: Mapping[str, Matcher],
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    trace: TraceWriter | None = None,
    header: Mapping[str, object] | None = None,
    simulator: Simulator = SimulatedUser,
    clock: LoopClock | None = None,
    case: str = "",
    trial: int = 1,
    site: Site | None = None,
) -> Transcript:
    """Hold it; what goes wrong becomes the transcript's outcome, only CancelledError is raised.

    The trace gets every event and is left open. Log records can be filed by the header's
    `trial_id`, which `current_conversation` holds meanwhile. `case` and `trial` name the calls of
    models that play the agent. `site` is the folder that the agent works in; it is closed here.
    """
    brief = _brief(task, draw, limits)
    # The name that the agent knows the conversation by: its own logs can be found with it.
    header = {**(header or {}), "conversation": brief.conversation}
    token = current_conversation.set(str(header.get("trial_id", brief.conversation)))
    case_token = current_case.set(CurrentCase(case, trial))
    try:
        async with slot(agent):
            clock = clock or LoopClock()
            known = ours(agent)
            scribe = Scribe(trace, ours=known is not None)
            asked = InlineAgent(known, clock) if known else AgentTask(agent, clock)
            work = None if site is None else Work(site, scribe)
            talk = Talk(task, scribe, asked, limits, clock, work)

            async def hold() -> Ending:
                scribe.start(header)
                told = brief if work is None else await work.begun(brief)
                return await talk.hold(lambda: simulator(task, persona, draw, matchers), told)

            return await _to_its_end(hold(), talk, scribe, asked, work)
    finally:
        current_case.reset(case_token)
        current_conversation.reset(token)


async def _to_its_end(
    holding: Coroutine[Any, Any, Ending],
    talk: Talk,
    scribe: Scribe,
    agent: AgentTask | InlineAgent,
    work: Work | None,
) -> Transcript:
    hurry = True
    try:
        ending = await _ending(holding)
        if work is not None and ending.outcome not in UNMEASURED_OUTCOMES:
            ending = await _ending(work.ended(ending))
        transcript = scribe.end(*_with_account(ending, talk))
        hurry = False
    except asyncio.CancelledError:
        scribe.end(*_with_account(CANCELLED, talk))
        raise
    finally:
        try:
            await agent.end(hurry=hurry)
        finally:
            if work is not None:
                await work.over()
    return transcript


async def _ending(holding: Coroutine[Any, Any, Ending]) -> Ending:
    try:
        return await holding
    except DialevalError as error:
        return Ending(_outcome(error), str(error))
    except Exception as error:
        logger.exception("a fault of pytest-dialeval itself")
        return Ending("harness_error", f"internal error: {type(error).__name__}: {error}")


def _with_account(ending: Ending, talk: Talk) -> tuple[Ending, tuple[str, ...], Mapping[str, int]]:
    """The probes left unsaid and the user's counts beside it; one that can't tell voids the trial.

    What ended it otherwise stays told where it was stopped.
    """
    try:
        return ending, talk.unsaid, talk.fidelity
    except DialevalError as error:
        stopped = ending is CANCELLED
        return ending if stopped else Ending(_outcome(error), str(error)), (), {}


def _outcome(error: DialevalError) -> Outcome:
    match error:
        case AgentFault():
            return "agent_error"
        case SimulatorFault():
            return "simulator_error"
        case ProviderFault() | NotMeasured():
            return "provider_error"
        case BudgetSpent():
            return "cancelled"
        case _:
            return "harness_error"


def _brief(task: Task, draw: Draw, limits: Limits) -> Brief:
    return Brief(
        task=task.id,
        prompt=task.prompt,
        variables=deepcopy(dict(task.variables)),  # all conversations share the task's own
        language=task.language,
        opening=task.opening,
        conversation=uuid4().hex,
        seed=draw.word("agent"),
        turn_timeout=limits.turn_timeout,
    )
