"""The convention itself: what counts as shown, and what as different."""

from __future__ import annotations

from pathlib import Path

import pytest

from .pages import blocks, difference

PAGE = """\
# A page

```yaml title=a/shop.yaml
x: 1
```

```bash
not run
```

```console
$ pytest -q
one
...
$ echo $?
0
```
"""


def test_blocks_have_files_commands_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")

    file, bash, console = blocks(path)

    assert (file.file, file.text, file.line) == ("a/shop.yaml", "x: 1\n", 3)
    assert (bash.file, bash.is_console) == (None, False)
    assert [(each.text, each.output, each.line) for each in console.commands()] == [
        ("pytest -q", ["one", "..."], 12),
        ("echo $?", ["0"], 15),
    ]


@pytest.mark.parametrize(
    "shown",
    [
        ["a", "b", "c"],
        ["...", "b", "c"],
        ["a", "..."],
        ["a", "...", "c"],
        ["...", "b", "..."],
        ["..."],
        ["a", "...", "b", "...", "c"],
        ["a ", "b...", "...c", ""],
    ],
)
def test_what_is_shown_is_the_output(shown: list[str]) -> None:
    assert difference(shown, ["a", "b", "c", ""]) == ""


@pytest.mark.parametrize(
    "shown",
    [
        [],
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
        ["...", "b"],
        ["b", "..."],
        ["...", "c", "...", "b", "..."],
        ["...", "x", "..."],
        ["a", "b", "c", "d"],
        ["A", "b", "c"],
    ],
)
def test_what_is_not_the_output_is_told(shown: list[str]) -> None:
    assert difference(shown, ["a", "b", "c"]) != ""


def test_rules_are_as_wide_as_the_terminal() -> None:
    assert difference(["==== 1 passed in ...s ===="], ["====== 1 passed in 0.12s ======="]) == ""
    assert difference(["==== 1 passed ===="], ["---- 1 passed ----"]) != ""
