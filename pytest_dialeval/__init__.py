"""pytest-dialeval: hold conversational agents to account."""

__version__ = "0.1.0"
