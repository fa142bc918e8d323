"""Lines in brackets that look like one sentence, which YAML has split at its commas."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.place import Place

_ENDS = (".", "!", "?", "…", ":", ")", '"', "'")
_WORDS = 3  # of a fragment that is hardly a line of its own


def note_split(place: Place, lines: Sequence[str]) -> None:
    """Note it where a line begins in lower case, though the list begins as a sentence does."""
    at = _continued(lines)
    if at is None or not _is_plain(place.source.node(place.path), at):
        return
    before, after = shown(lines[at - 1]), shown(lines[at])
    place.note(
        f"{before} and {after} are two lines, of which one is said at a time: if they are one "
        "sentence, put quotes round it"
    )


def _continued(lines: Sequence[str]) -> int | None:
    """The first line that goes on with the one before it."""
    if len(lines) < 2 or not lines[0][:1].isupper():
        return None
    rest = range(1, len(lines))
    going_on = [
        each
        for each in rest
        if lines[each][:1].islower() and not lines[each - 1].rstrip().endswith(_ENDS)
    ]
    if not going_on:
        return None
    ended = [line.rstrip().endswith(_ENDS) for line in lines]
    is_sentence = ended[-1] and not any(ended[:-1])
    fragments = all(each in going_on for each in rest)
    long = any(len(line.split()) >= _WORDS for line in lines[1:])
    return going_on[0] if is_sentence or (fragments and long) else None


def _is_plain(node: yaml.Node | None, at: int) -> bool:
    """Whether both lines stand in brackets without quotes."""
    if not isinstance(node, yaml.SequenceNode) or not node.flow_style:
        return False
    return not any(each.style for each in node.value[at - 1 : at + 1])
