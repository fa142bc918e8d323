"""What could have been written instead of a word that is not known."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dialeval.records.wording import did_you_mean


def instead(word: str, known: Sequence[str], allowed: Sequence[str] | None = None) -> str:
    """`; did you mean 'x'? allowed: x, y`; `allowed` where not all that is known is named."""
    guess = did_you_mean(word, known)
    return f"{guess}{' ' if guess else '; '}allowed: {', '.join(allowed or known)}"
