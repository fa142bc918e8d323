"""A text that is too long, with a mark where some of it is left out."""

from __future__ import annotations


def capped(text: str, most: int) -> str:
    """Its beginning and its end, at most so many characters, and between them how much is gone."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[{left_out:,} of {len(text):,} characters left out]\n{text[-half:]}"
