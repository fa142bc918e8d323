"""Lines for a behaviour without a model: drawn by seed, with the conversation's facts filled in."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.follow_up import FIELDS, Behaviour

_FIELD = re.compile(rf"\{{\{{|\}}\}}|\{{({'|'.join(FIELDS)})\}}")
_LITERAL = {"{{": "{", "}}": "}"}
# What stands for a fact that is not known, where every line needs one.
_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "en": {
        "request": "what I asked for at first.",
        "earlier": "what I asked for before.",
        "said": "what you have just told me.",
        "files": "what you changed",
        "command": "your last command",
        "failing": "the check",
        "error": "an error",
    },
    "zh": {
        "request": "我一开始要求的。",
        "earlier": "我之前要求的。",
        "said": "你刚才说的。",
        "files": "你改过的地方",
        "command": "你最后的命令",
        "failing": "那个检查",
        "error": "一个错误",
    },
}


def needs(line: str) -> frozenset[str]:
    """The facts that a line names."""
    return frozenset(filter(None, _FIELD.findall(line)))


def filled(line: str, facts: Mapping[str, str], language: str) -> str:
    """The line with its facts; their own braces mean nothing."""
    instead = _INSTEAD["zh" if language.lower().startswith("zh") else "en"]

    def value(match: re.Match[str]) -> str:
        if match[0] in _LITERAL:
            return _LITERAL[match[0]]
        return facts.get(match[1]) or instead[match[1]]

    return _FIELD.sub(value, line)


def usable(lines: Sequence[str], facts: Mapping[str, str]) -> Sequence[str]:
    """Those whose facts are known; all of them where none is."""
    return [each for each in lines if needs(each) <= facts.keys()] or lines


def drawn(
    behaviour: Behaviour,
    language: str,
    facts: Mapping[str, str],
    draw: Draw,
    said: Collection[str] = (),
) -> str | None:
    """The words of a behaviour's line, if possible none of `said`; None where it has no line."""
    lines = sorted(
        enumerate(behaviour.lines(language)),
        key=lambda each: draw.unit(f"follow-up line:{behaviour.id}", each[0]),
    )
    words = [filled(each, facts, language) for each in usable([line for _, line in lines], facts)]
    return next((each for each in words if each not in said), words[0] if words else None)
