"""How well a model played the user, in counts: what they are called, wherever they are kept."""

from __future__ import annotations

LINES = "lines"  # worded by the model and sent
ASKED_AGAIN = "asked_again"  # first replies that were not sent; the reasons add up to it
TEMPLATE = "template"  # said as the script has them, since no reply could be sent
COUNTS = (LINES, ASKED_AGAIN, TEMPLATE)  # all others are reasons (user_reply.REASONS)
