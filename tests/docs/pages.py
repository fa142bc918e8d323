"""Pages of the documentation, and what in them can be run.

The convention, in README.md and below docs/:

* a fenced block whose info string names a file (```yaml title=shop.dialeval.yaml) is that file;
* a page with such blocks has a folder of its own. Its blocks are taken in order: a file is written
  where it stands (a later block of the same name replaces it), and every ```console block is run.
  Console blocks of pages without files are not run, nor are blocks of any other language;
* in a console block `$ ` begins a command and all lines below it are its output, to the last one.
  In it `...` stands for anything within a line, and alone on a line for any number of lines;
* `$ pytest ...` runs in this process, with our plugin alone; with `-n`, and all other commands
  (`$ dialeval ...`, `$ cat ...`), in a shell. `$ echo $?` shows the status of the command before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)
_RULE = re.compile(r"([=_-])\1{3,}")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    info: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that it is."""
        found = re.search(r"(?:^|\s)title=(\S+)", self.info)
        return found[1] if found else None

    @property
    def is_console(self) -> bool:
        return self.info.split()[:1] == ["console"]

    def commands(self) -> Iterator[Command]:
        """Its commands, each with the output shown below it."""
        lines = self.text.splitlines()
        begins = [number for number, each in enumerate(lines) if each.startswith("$ ")]
        assert begins[:1] == [0], f"line {self.line}: a console block begins with a command"
        for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
            yield Command(
                lines[begin].removeprefix("$ "), lines[begin + 1 : end], self.line + begin + 1
            )


@dataclass(frozen=True, slots=True)
class Command:
    """A command with the output that the page shows."""

    text: str
    output: list[str]
    line: int


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(each["info"].strip(), each["text"], text.count("\n", 0, each.start()) + 1)
        for each in _FENCE.finditer(text)
    ]


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def difference(shown: list[str], actual: list[str]) -> str:
    """Where the output differs from what is shown; empty where it does not."""
    wanted, given = _plain(shown), _plain(actual)
    parts: list[list[str]] = [[]]
    for line in wanted:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    place = 0
    for number, part in enumerate(parts):
        first, last = number == 0, number == len(parts) - 1
        places = range(place, len(given) - len(part) + 1)
        if first:
            places = places[:1]
        if last:
            places = places[-1:] if not first or len(part) == len(given) else range(0)
        found = next((each for each in places if _same(part, given[each:])), None)
        if found is None:
            return (
                "not in the output"
                + (f" after its line {place}" if place else "")
                + ":\n"
                + ("\n".join(part))
            )
        place = found + len(part)
    return ""


def _plain(lines: list[str]) -> list[str]:
    """Without blank lines at the end; rules that fill the terminal's width in one length."""
    plain = [_RULE.sub(r"\1\1\1\1", each.rstrip()) for each in lines]
    while plain and not plain[-1]:
        plain.pop()
    return plain


def _same(part: list[str], given: list[str]) -> bool:
    return all(map(_matches, part, given))


def _matches(shown: str, line: str) -> bool:
    pattern = "[^\n]*?".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, line) is not None
