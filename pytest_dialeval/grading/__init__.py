"""Verdicts with evidence that code has checked, and what they add up to."""
