"""Any text as a name that node ids, file names and reports can hold."""

from __future__ import annotations

import re
from hashlib import sha256

SLUG_LENGTH = 40


def slug(text: str) -> str:
    """`[a-z0-9_]+` of at most 40 characters; 8 hex digits of its hash where it had to change."""
    if re.fullmatch(rf"[a-z0-9_]{{1,{SLUG_LENGTH}}}", text):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    words = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[: SLUG_LENGTH - 9].strip("_")
    return f"{words}_{digest}" if words else digest
