"""Agents, simulated users and what they say to each other: the only place where somebody talks."""
