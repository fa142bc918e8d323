"""Frozen values that every room passes on; they import nothing but the standard library."""
