"""A tiny process that ends a program's group when this process is gone, however it went.

SIGTERM and SIGKILL leave Python no time, and a program that does not read its input never learns
that nobody is there. The guard does: its own input ends with us.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress

# In a session of its own, so that no Ctrl-C and no signal to our group ends it before us.
_SCRIPT = 'read -r _; kill -9 -"$1"'


class Guard:
    """Watches over the group of one program; dismiss it before that group's head is reaped."""

    def __init__(self, group: int) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # no shell here, or no process to be had: then without
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "guard", str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """End it: from here on the group's number may become another's. Harmless to repeat."""
        if self._process is not None:
            self._process.kill()
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self) -> None:
        """Return when it is gone."""
        if self._process is not None:
            self._process.wait()
