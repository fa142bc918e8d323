"""Addresses of servers and what goes to them, as users write it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pytest_dialeval.suites.form import shown

VARIABLE = re.compile(r"\$\{([^{}]*)\}")  # of the environment, in a header's text
# Not every `@`: a name may be claude-3-5-sonnet@20240620.
_BARE = re.compile(r"(?!https?://)(?:localhost$|\S+:\d|\S*/|\d+\.\d+\.\d+\.\d+$|\[)")
_OURS = ("connection", "content-length", "content-type", "host", "transfer-encoding")
_IDEMPOTENCY = "idempotency-key"
_SECRET = re.compile(r"(?i)(?:authorization|cookie|key|token|secret|password)$")


def url_problem(written: str, what: str, *, query: bool = False) -> str:
    """What is wrong with the URL of a server; empty where nothing is."""
    try:
        parts = urlsplit(written.strip())
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or re.search(r"\s", written.strip()):
        return f"{what} must be a URL such as http://localhost:8000/chat, not {shown(written)}"
    if "@" in parts.netloc:
        return f"{what} must hold no user and password: give them in a header, from a variable"
    if parts.fragment or (parts.query and not query):
        return f"{what} must hold no {'fragment' if query else 'query or fragment'}"
    return ""


def bare_address_problem(written: str) -> str:
    """What is wrong with `m@localhost:8000/v1`; empty where what follows @ may be of the name."""
    if "@http" in written:  # an address by its own word; a user and password may stand in it
        return ""
    name, _, behind = written.rpartition("@")
    if not name.strip() or name[-1] in ":/" or not _BARE.match(behind.strip()):
        return ""
    scheme = "https://" if behind.strip().endswith(":443") else "http://"
    text = f"{shown(written)}: what follows @ is an address without http://"
    return f"{text}; did you mean {f'{name}@{scheme}{behind.strip()}'!r}?"


def header_problem(name: str, text: str) -> str:
    """What is wrong with a header; empty where nothing is. Its text may be a secret."""
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        return f"{shown(name)} can't be the name of a header: it is of letters, digits and -"
    if name.lower() in _OURS or name.lower() == _IDEMPOTENCY:
        return f"header {name} is set by the plugin itself: remove it"
    if not all("\x20" <= each <= "~" for each in text):
        return f"header {name} must be of plain ASCII characters"
    for variable in VARIABLE.findall(text):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
            return f"header {name}: ${{{variable}}} names no variable; write ${{NAME}}"
    if _SECRET.search(name) and not VARIABLE.search(text):
        return f"header {name}: a key doesn't belong in a file; name its variable, e.g. ${{MY_KEY}}"
    return ""
