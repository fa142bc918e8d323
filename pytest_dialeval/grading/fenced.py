"""A transcript as a judge may read it: between fences that its text cannot know (design rule 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count, groupby

from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Turn


@dataclass(frozen=True, slots=True)
class Block:
    """A line of ours, and the data below it."""

    title: str
    text: str
    bulky: bool = False  # a result or an artifact, whose middle may be left out


@dataclass(frozen=True, slots=True)
class Fenced:
    """The turns that are shown, each under a line that begins with the mark."""

    text: str
    mark: str
    nonce: str
    shown: tuple[int, ...]
    omitted: tuple[int, ...]
    shortened: tuple[int, ...] = ()  # shown, but some piece of them without its middle


def fenced(
    turns: Sequence[Turn],
    *,
    limit: int | None = None,
    after: int = 0,
    beside: Sequence[str] = (),
    piece: int | None = None,
) -> Fenced:
    """The transcript with turns of at most `limit` characters; what is left out is listed.

    Where not all can be shown, the turns after `after` come first, the newest of them before the
    older ones. `beside`: texts that go between the same fences; the mark stands in none of them.
    `piece`: characters of a result or an artifact; a longer one loses its middle.
    """
    blocks = {each.id: tuple(_blocks(each)) for each in turns}
    nonce = nonce_of([each.text for turn in blocks.values() for each in turn] + [*beside])
    mark = f"<<<{nonce}"
    long = set()
    if piece is not None:
        long = {number for number, each in blocks.items() if any(_is_long(b, piece) for b in each)}
        blocks.update({each: tuple(_cut(b, piece, mark) for b in blocks[each]) for each in long})
    written = {number: _written(each, mark) for number, each in blocks.items()}
    shown = _shown(written, limit, after)
    lines = [f"{mark} transcript", *_lines(written, shown, mark), f"{mark} end of transcript"]
    return Fenced(
        "\n".join(lines),
        mark,
        nonce,
        tuple(each for each in written if each in shown),
        tuple(each for each in written if each not in shown),
        tuple(each for each in written if each in shown and each in long),
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
            yield Block(f"{name}, {kind} of tool call {number}", clean(call.result), bulky=True)
    for number, each in enumerate(turn.artifacts, 1):
        yield Block(f"{name}, name of artifact {number}", clean(each.name))
        yield Block(f"{name}, {turn.speaker}'s artifact {number}", clean(each.text), bulky=True)


def _is_long(block: Block, piece: int) -> bool:
    return block.bulky and len(block.text) > piece


def _cut(block: Block, piece: int, mark: str) -> Block:
    if not _is_long(block, piece):
        return block
    return Block(block.title, without_middle(block.text, piece, mark, f"{block.title}, its end"))


def without_middle(text: str, most: int, mark: str, after: str) -> str:
    """Beginning and end of a text, whole lines where it has some, and between them what is missing.

    `after` is the line of ours above its end.
    """
    head, tail = text[: most - most // 2], text[len(text) - most // 2 :]
    if "\n" in head and "\n" in tail:
        head, tail = head[: head.rindex("\n")], tail[tail.index("\n") + 1 :]
    left = len(text) - len(head) - len(tail)
    said = f"{mark} {left} characters are left out here for want of room"
    return f"{head}\n{said}\n{mark} {after}\n{tail}"


def nonce_of(texts: Sequence[str]) -> str:
    """A word that stands in none of these texts.

    A digest of all of them: no speaker can know what others will say, nor write a text that holds
    its own digest. The same transcript has the same fences, so endpoints can cache what they read.
    """
    digest = blake2b("\0".join(texts).encode(), digest_size=12)
    for number in count():
        nonce = digest.hexdigest()
        if not any(nonce in each for each in texts):
            return nonce
        digest.update(str(number).encode())
    raise AssertionError("count() has no end")


def _shown(written: Mapping[int, str], limit: int | None, after: int) -> set[int]:
    if limit is None:
        return set(written)
    left = limit
    shown = set()
    for number in sorted(written, key=lambda each: (each > after, each), reverse=True):
        size = len(written[number])
        if size <= left:
            shown.add(number)
            left -= size
    return shown


def _lines(written: Mapping[int, str], shown: set[int], mark: str) -> Iterator[str]:
    """The turns that are shown, and between them which are not."""
    for is_shown, run in groupby(written, key=shown.__contains__):
        if is_shown:
            yield from (written[each] for each in run)
        else:
            yield f"{mark} left out for want of room: turn {ranges(list(run))}"


def _written(blocks: Iterable[Block], mark: str) -> str:
    return "\n".join(f"{mark} {each.title}\n{each.text}" for each in blocks)
