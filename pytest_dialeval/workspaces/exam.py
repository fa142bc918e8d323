"""The folder that a verifier sees: start and patch, but for what must not be the agent's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.wording import listed
from pytest_dialeval.records.work import Verifier
from pytest_dialeval.suites.folder import Survey, survey
from pytest_dialeval.workspaces.copying import copy_of, looked_through, put, take_away
from pytest_dialeval.workspaces.git import Git
from pytest_dialeval.workspaces.met_first import met_first

# They steer tests, or what Python does before it meets one.
RESTORED = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"),
    *("setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py", "*.pth"),
    # A package's account of itself, by which pytest finds plugins.
    *("*.dist-info/*", "*.egg-info/*", "*.egg-info"),
)
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Stored:
    """The agent's work so far; paths as the file system has them."""

    patch: Path | None = None  # None: nothing differs
    files: tuple[str, ...] = ()
    added: tuple[str, ...] = ()  # of these, those that the start does not have, or ignores


def lay_out(
    tree: Path,
    found: Survey,
    stored: Stored,
    verifier: Verifier,
    git: Git,
    goes_on: Callable[[], None],
) -> tuple[str, ...]:
    """Make `tree`: start, patch, files of the start, hidden files; what did not count is told."""
    copy_of(found, tree, goes_on)
    _apply(tree, stored, git)
    hidden = _hidden(verifier, goes_on)
    told = _restore(tree, found, stored.files, verifier.restore)
    if verifier.restore is None:
        told += _uncover(tree, found, stored.files, hidden)
    told += _cut_links(tree)
    for path, file in hidden.items():
        put(file, tree, path)
    return tuple(told)


def _hidden(verifier: Verifier, goes_on: Callable[[], None]) -> dict[str, Path]:
    """Its hidden files, by where they are laid in the copy."""
    if verifier.hidden is None:
        return {}
    found = looked_through(Path(verifier.hidden), goes_on)
    return {each.path: found.folder / each.path for each in found.entries}


def _apply(tree: Path, stored: Stored, git: Git) -> None:
    if stored.patch is None:
        return
    for each in stored.added:  # it may be there all the same, where the start ignores it
        take_away(tree, each)
    try:
        git(tree, "apply", "--whitespace=nowarn", str(stored.patch))
    except HarnessFault as error:
        text = f"the stored patch can't be applied to the start folder: {error}"
        raise HarnessFault(text) from None


def _restore(
    tree: Path, found: Survey, files: Iterable[str], patterns: Iterable[str] | None
) -> list[str]:
    started = {each.path for each in found.entries}
    wanted = RESTORED if patterns is None else tuple(patterns)
    back = [each for each in files if any(_fits(each, pattern) for pattern in wanted)]
    for each in back:
        if each in started:
            put(found.folder / each, tree, each)
        else:
            _leave_out(tree, found, each)
    return _told("as at the start, not as the agent left it", back)


def _leave_out(tree: Path, found: Survey, path: str) -> None:
    """With the folders that were there for it alone: an empty `x.dist-info` still has a say."""
    take_away(tree, path)
    while (path := path.rpartition("/")[0]) and path not in found.folders:
        with suppress(OSError):  # it holds something else
            (tree / path).rmdir()


def _fits(path: str, pattern: str) -> bool:
    """A pattern without a slash is about names, anywhere. Some who look for them mind no case."""
    name = path if "/" in pattern else path.rpartition("/")[2]
    return fnmatchcase(name.lower(), pattern.lower())


def _uncover(tree: Path, found: Survey, files: Iterable[str], laid: Iterable[str]) -> list[str]:
    """Leave out modules that stand before Python's own or pytest's."""
    started = {each.path for each in found.entries}
    covering = met_first(tree, [each for each in files if each not in started], laid)
    for each in covering:
        _leave_out(tree, found, each)
    return _told("modules that would replace Python's own or pytest's", covering)


def _cut_links(tree: Path) -> list[str]:
    """What is written through a link that leads out would land elsewhere."""
    found = survey(tree)
    out = [each.path for each in found.entries if found.leads_out(each)]
    for each in out:
        (tree / each).unlink()
    return _told("links out of the folder", out)


def _told(what: str, paths: list[str]) -> list[str]:
    return [f"{what}: {clean(listed(paths, _LISTED))}"] if paths else []
