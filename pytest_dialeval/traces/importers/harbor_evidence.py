"""What verifier and agent left behind in a round -> artifacts of the agent's last turn in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath

from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Artifact
from pytest_dialeval.traces.importers.atif import Step
from pytest_dialeval.traces.importers.capped import capped
from pytest_dialeval.traces.importers.harbor_files import TrialFiles, said
from pytest_dialeval.traces.importers.harbor_rounds import Placed

MOST_CHARS = 20_000  # of one artifact
MOST_ARTIFACTS = 50  # of one round
_FOLDERS = ("verifier/", "artifacts/")
_PATCHES = {".patch", ".diff"}
_TYPES = {
    ".json": "application/json",
    ".md": "text/markdown",
    **dict.fromkeys(_PATCHES, "text/x-diff"),
}


def with_evidence(placed: Sequence[Placed], round_: int, found: Sequence[Artifact]) -> list[Placed]:
    """The steps with the artifacts at the agent's last turn of the round.

    Where the agent has none in that round, a silent turn holds them, behind what was said before.
    """
    if not found:
        return list(placed)
    own = [
        place
        for place, each in enumerate(placed)
        if each.round == round_ and each.step.source == "agent"
    ]
    if own:
        last = placed[own[-1]]
        step = replace(last.step, artifacts=(*last.step.artifacts, *found))
        return [*placed[: own[-1]], replace(last, step=step), *placed[own[-1] + 1 :]]
    end = sum(each.round <= round_ for each in placed)
    silent = Placed(Step("agent", artifacts=tuple(found)), round_)
    return [*placed[:end], silent, *placed[end:]]


def evidence(files: TrialFiles, prefix: str) -> list[Artifact]:
    """The artifacts below `steps/NAME/`, or below the trial itself (an empty prefix)."""
    names = list(_names(files, prefix))
    for each in names[MOST_ARTIFACTS:]:
        files.left_out[each] = f"is beyond {MOST_ARTIFACTS} artifacts of a round"
    found = (_artifact(files, each, prefix) for each in names[:MOST_ARTIFACTS])
    return [each for each in found if each is not None]


def _names(files: TrialFiles, prefix: str) -> Iterator[str]:
    """The verifier's first; of what the agent's adapter logged only patches."""
    for folder in _FOLDERS:
        yield from files.below(f"{prefix}{folder}")
    for name in files.below(f"{prefix}agent/"):
        if PurePosixPath(name).suffix in _PATCHES:
            yield name


def _artifact(files: TrialFiles, name: str, prefix: str) -> Artifact | None:
    data = files.read(name)
    short = said(name.removeprefix(prefix))
    if data is None:
        why = files.left_out.get(name)
        return None if why is None else Artifact(short, f"[{why}]")
    text = _text(data)
    if text is None:
        about = f"[binary: {len(data):,} bytes, sha256 {sha256(data).hexdigest()}]"
        return Artifact(short, about, "application/octet-stream")
    return Artifact(
        short, capped(text, MOST_CHARS), _TYPES.get(PurePosixPath(name).suffix, "text/plain")
    )


def _text(data: bytes) -> str | None:
    """The text of a log, with U+FFFD for a few broken bytes; None where it is no text."""
    if b"\0" in data:
        return None
    text = data.decode("utf-8", "replace")
    return None if text.count("\ufffd") * 10 > len(text) else clean(text)
