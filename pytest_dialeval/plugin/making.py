"""A declared agent -> what makes its conversations' agents, or a message with its line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dialeval.conversation.agent import AgentFactory
from pytest_dialeval.conversation.resolve import adapt, agent_factory
from pytest_dialeval.errors import DialevalError, HarnessFault
from pytest_dialeval.plugin.choice import HOOK

if TYPE_CHECKING:
    from pytest_dialeval.conversation.web import Web
    from pytest_dialeval.models.chat import Chat
    from pytest_dialeval.models.watch import Watch
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.suite import AgentSpec


def make_agent(
    source: LoadedSource,
    spec: AgentSpec,
    *,
    chat: Chat | None = None,
    web: Web | None = None,
    watch: Watch | None = None,
) -> AgentFactory:
    """The agent's factory; HarnessFault as `suite:line: what, allowed, did you mean`."""
    offered, engine = source.offers.agents, source.engine
    try:
        if spec.use == HOOK:
            return adapt(offered[spec.name], name=spec.name, concurrency=spec.concurrency)
        return agent_factory(
            spec,
            rootdir=engine.rootdir,
            matchers=source.offers.matchers,
            objects=offered,
            chat=chat,
            web=web,
            watch=watch,
        )
    except DialevalError as error:
        text = str(error).replace(f" (line {spec.line})", "", 1)
        where = f"{engine.relative(Path(source.suite.path))}:{spec.line}: " if spec.line else ""
        raise HarnessFault(f"{where}{text}") from None
