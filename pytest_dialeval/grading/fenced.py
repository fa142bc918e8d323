"""A transcript as a judge may read it: between fences that its text cannot know (design rule 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count

from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Turn


@dataclass(frozen=True, slots=True)
class Block:
    """A line of ours, and the data below it."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Fenced:
    """The turns that are shown, each under a line that begins with the mark."""

    text: str
    mark: str
    nonce: str
    shown: tuple[int, ...]
    omitted: tuple[int, ...]


def fenced(turns: Sequence[Turn], *, limit: int | None = None, after: int = 0) -> Fenced:
    """The transcript in at most `limit` characters of turns; what is left out is listed.

    Where not all can be shown, the turns after `after` come first, the newest of them before the
    older ones.
    """
    blocks = {each.id: tuple(_blocks(each)) for each in turns}
    nonce = _nonce(blocks.values())
    shown = _shown(blocks, limit, after)
    mark = f"<<<{nonce}"
    parts = [f"{mark} transcript"]
    for part in _parts(blocks, shown):
        parts.append(_listed(part, mark) if isinstance(part, list) else _written(part, mark))
    parts.append(f"{mark} end of transcript")
    return Fenced(
        "\n".join(parts),
        mark,
        nonce,
        tuple(each for each in blocks if each in shown),
        tuple(each for each in blocks if each not in shown),
    )


def ranges(numbers: Sequence[int]) -> str:
    """`1, 3 to 7`: turn ids in a few words."""
    runs: list[list[int]] = []
    for each in numbers:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _blocks(turn: Turn) -> Iterator[Block]:
    """What may be quoted of a turn, piece by piece; never how the simulated user was steered."""
    name = f"turn {turn.id}"
    if turn.text or not (turn.tool_calls or turn.artifacts):
        yield Block(f"{name}, {turn.speaker}", clean(turn.text))
    for number, call in enumerate(turn.tool_calls, 1):
        yield Block(f"{name}, {turn.speaker}'s tool call {number}", clean(str(call)))
        if call.result is not None:
            kind = "error" if call.error else "result"
            yield Block(f"{name}, {kind} of tool call {number}", clean(call.result))
    for number, each in enumerate(turn.artifacts, 1):
        yield Block(f"{name}, name of artifact {number}", clean(each.name))
        yield Block(f"{name}, {turn.speaker}'s artifact {number}", clean(each.text))


def _nonce(turns: Iterable[tuple[Block, ...]]) -> str:
    """A word that stands nowhere in the turns.

    A digest of all of them: no speaker can know what others will say, nor write a text that holds
    its own digest. The same transcript has the same fences, so endpoints can cache what they read.
    """
    texts = [each.text for blocks in turns for each in blocks]
    digest = blake2b("\0".join(texts).encode(), digest_size=12)
    for number in count():
        nonce = digest.hexdigest()
        if not any(nonce in each for each in texts):
            return nonce
        digest.update(str(number).encode())
    raise AssertionError("count() has no end")


def _shown(blocks: dict[int, tuple[Block, ...]], limit: int | None, after: int) -> set[int]:
    if limit is None:
        return set(blocks)
    left = limit
    shown = set()
    for number in sorted(blocks, key=lambda each: (each > after, each), reverse=True):
        size = sum(len(each.text) for each in blocks[number])
        if size <= left:
            shown.add(number)
            left -= size
    return shown


def _parts(
    blocks: dict[int, tuple[Block, ...]], shown: set[int]
) -> Iterator[tuple[Block, ...] | list[int]]:
    """Turns that are shown, and between them the ids of those that are not."""
    missing: list[int] = []
    for number, written in blocks.items():
        if number not in shown:
            missing.append(number)
            continue
        if missing:
            yield missing
            missing = []
        yield written
    if missing:
        yield missing


def _written(blocks: tuple[Block, ...], mark: str) -> str:
    return "\n".join(f"{mark} {each.title}\n{each.text}" for each in blocks)


def _listed(missing: list[int], mark: str) -> str:
    return f"{mark} left out for want of room: turn {ranges(missing)}"
