"""Work in a folder beside a conversation: looked at after each round, and once more at the end."""

from __future__ import annotations

import logging
from dataclasses import replace

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.current import current_conversation
from pytest_dialeval.conversation.scribe import Ending, Scribe
from pytest_dialeval.conversation.site import Site
from pytest_dialeval.conversation.user import User
from pytest_dialeval.records.transcript import Artifact, Turn
from pytest_dialeval.records.work import PATCH, Done

PATCH_TYPE = "text/x-diff"

logger = logging.getLogger(__name__)


class Work:
    """One site, and the scribe who writes down what is found there."""

    def __init__(self, site: Site, scribe: Scribe) -> None:
        self._site = site
        self._scribe = scribe
        self._open = False

    async def begun(self, brief: Brief) -> Brief:
        """The brief with the folder, which is there from now on."""
        await self._site.open()
        self._open = True
        return replace(brief, workspace=str(self._site.folder))

    async def after(self, reply: Reply, latency: float, *, last: bool) -> tuple[Turn, Done]:
        """The agent's turn with its patch, written down, and all that is known of the folder."""
        try:
            done = await self._site.after(self._scribe.rounds, last=last)
        except BaseException:  # whatever became of the folder: the words were said
            self._scribe.agent(reply, latency)
            raise
        patch = (Artifact(PATCH, done.patch, PATCH_TYPE),) if done.patch else ()
        turn = self._scribe.agent(reply, latency, patch)
        self._scribe.done(done)
        return turn, done

    async def ended(self, ending: Ending) -> Ending:
        """The same ending, once the verifier has seen the work that the agent leaves."""
        if self._open:
            self._scribe.done(await self._site.after(self._scribe.rounds, last=True))
        return ending

    async def over(self) -> None:
        """The folder may go."""
        try:
            await self._site.close()
        except Exception as error:
            logger.warning("removing the folder of %s: %s", current_conversation.get(), error)


def observe(user: User, done: Done) -> None:
    """Tell a user that wants to know what was done."""
    told = getattr(user, "observe", None)
    if told is not None:
        told(done)
