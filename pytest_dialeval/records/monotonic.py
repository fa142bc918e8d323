"""The machine's seconds, whatever a test has put in the place of time.monotonic.

Conversations of later items go on while a test freezes the clock. A loop that went by the frozen
one would set timers that are not due for years, and deadlines would pass in no time.
"""

from __future__ import annotations

import time
from functools import partial

# Bound, and no second name: who freezes clocks replaces every name that stands for the function.
monotonic = partial(time.monotonic)
