"""Whether a matcher holds over one turn that was just heard."""

from __future__ import annotations

from pytest_dialeval.conversation.fault import message_of
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.matching.compiling import Check
from pytest_dialeval.matching.view import View


def holds(check: Check, view: View) -> bool:
    """The matcher's word; HarnessFault where a matcher of the user's raises."""
    try:
        return check(view).matched
    except Exception as error:
        text = f"matcher {check.method!r} raised {type(error).__name__}: {message_of(error)}"
        raise HarnessFault(text) from None
