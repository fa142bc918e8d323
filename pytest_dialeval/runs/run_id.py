"""The name of a run; apart, for xdist's controller needs one in sessions without dialogues too."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


def new_run_id() -> str:
    """Sortable by time, unique between machines: `20261130-162155-3fa9c1`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
