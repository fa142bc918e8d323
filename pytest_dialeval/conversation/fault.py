"""What went wrong inside an agent, as one sentence that names value and place."""

from __future__ import annotations

import logging
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from traceback import walk_tb
from types import TracebackType

from pytest_dialeval.errors import (
    AgentFault,
    BudgetProblem,
    BudgetSpent,
    DialevalError,
    HarnessFault,
    ModelProblem,
    NotMeasured,
    ProviderFault,
    RunError,
)
from pytest_dialeval.programs.environ import RUNNING, changed_meanwhile
from pytest_dialeval.records.text import clean

logger = logging.getLogger(__name__)
_MESSAGE = 2000
_VALUE = 200
_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = (
    "<frozen ",
    _PACKAGE,
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")},
)
_TOLD = (AgentFault, HarnessFault, NotMeasured, ProviderFault, BudgetSpent)  # whose it is
_OURS = (RunError, BudgetProblem, ModelProblem)  # a full disk, a price that is unknown
_OTHER_LOOP = (
    " (it was made in another event loop: make it in `start`, or give a function that makes"
    " the agent)"
)
_ENVIRONMENT = (
    f"pytest took {RUNNING} away while the agent copied os.environ: copy it where the agent's file"
    " is imported, or ask by os.environ.get"
)


def fault_of(error: BaseException) -> DialevalError:
    """The fault that an exception out of an agent stands for; SystemExit is no exception."""
    if isinstance(error, _TOLD):
        return error
    if isinstance(error, _OURS):
        return HarnessFault(str(error))
    if changed_meanwhile(error):
        return HarnessFault(f"{_ENVIRONMENT}{place_of(error)}")
    # Filed with the conversation, and shown once with what fails because of it.
    logger.error("the agent raised", exc_info=users_frames(error))
    kind, message = type(error).__name__, message_of(error)
    hint = _OTHER_LOOP if "different loop" in message or "different event loop" in message else ""
    text = f"the agent raised {kind}: {message}" if message else f"the agent raised {kind}"
    return AgentFault(f"{text}{place_of(error)}{hint}")


def users_frames(
    error: BaseException,
) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """For a log: the error from where the user's code was entered, without our frames before it."""
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        found = found.tb_next
    return type(error), error, found or error.__traceback__


def shown(value: object) -> str:
    """A value's repr, shortened; a repr that fails is said."""
    try:
        text = repr(value)
    except BaseException as error:  # an exit there would end the thread, and nobody be answered
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return shortened(clean(text), _VALUE)


def shortened(text: str, length: int) -> str:
    """The text, or its first characters and how many there are."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"


def message_of(error: BaseException) -> str:
    """The exception's own text; one that fails to show itself is said."""
    try:
        return shortened(clean(str(error)), _MESSAGE)
    except BaseException as second:  # an exception of the agent's own may fail to show itself
        return f"<its text raises {type(second).__name__}>"


def place_of(error: BaseException) -> str:
    """The user's own line, as ` (folder/file.py:12)`: the deepest frame that is no library's."""
    return place_in(
        (frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)
    )


def place_in(frames: Iterable[tuple[str, int]]) -> str:
    """The same for files and lines, the outermost first."""
    own = [each for each in frames if not each[0].startswith(_LIBRARIES)]
    if not own:
        return ""
    file, line = own[-1]
    return f" ({'/'.join(Path(file).parts[-2:])}:{line})"
