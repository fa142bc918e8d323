"""Fresh copies of a folder, far from the project that it comes from."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.suites.folder import Survey, survey

_PLACES = ("/var/tmp", "/dev/shm")  # where the usual folder for temporary files won't do


def new_folder(rootdir: Path) -> Path:
    """An empty folder outside rootdir: a pytest that an agent runs must not find our ini file."""
    for each in dict.fromkeys((tempfile.gettempdir(), *_PLACES)):
        if not Path(each).resolve().is_relative_to(rootdir.resolve()):
            with suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="dialeval-", dir=each)).resolve()
    raise HarnessFault(
        f"every folder for temporary files lies inside rootdir ({rootdir}), where an agent's own "
        "pytest would find the settings of this run: set TMPDIR to a folder outside"
    )


def looked_through(
    folder: Path, goes_on: Callable[[], None], max_mb: float | None = None
) -> Survey:
    """What is there to copy; HarnessFault where that may not be, before anything is copied."""
    try:
        found = survey(folder, goes_on)
        problem = found.problem(max_mb)
    except OSError as error:
        raise HarnessFault(f"the folder {folder} can't be read: {error.strerror}") from None
    if problem:
        raise HarnessFault(f"the folder {folder} {problem}")
    return found


def copy_of(found: Survey, to: Path, goes_on: Callable[[], None]) -> None:
    """Make `to` with everything that was found; HarnessFault where that can't be."""
    try:
        to.mkdir()
        for each in found.folders:
            (to / each).mkdir()
        for entry in found.entries:
            goes_on()
            shutil.copy2(found.folder / entry.path, to / entry.path, follow_symlinks=False)
        for each in found.folders:
            shutil.copymode(found.folder / each, to / each)
            (to / each).chmod(stat.S_IMODE((to / each).stat().st_mode) | stat.S_IRWXU)
    except OSError as error:
        what = f"{error.strerror or error} ({error.filename})"
        raise HarnessFault(f"the folder {found.folder} can't be copied: {what}") from None


def put(source: Path, folder: Path, path: str) -> None:
    """Lay a file or link into a folder, over whatever is there, and through no link out of it."""
    take_away(folder, path)
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, folder / path, follow_symlinks=False)


def take_away(folder: Path, path: str) -> None:
    """Remove a file, link or folder, and what stands in the way to it: links, files."""
    above = folder
    for part in path.split("/")[:-1]:
        above = above / part
        if above.is_symlink() or above.is_file():
            above.unlink()
            return
    last = folder / path
    if last.is_dir() and not last.is_symlink():
        remove(last)
    else:
        with suppress(FileNotFoundError):
            last.unlink()


def remove(folder: Path) -> None:
    """Everything in it too, however deep, also what was made read-only; what can't go stays."""
    folders = [str(folder)]
    for each in folders:  # which grows
        with suppress(OSError):
            os.chmod(each, stat.S_IRWXU)
            with os.scandir(each) as found:
                folders += _emptied(found)
    for each in reversed(folders):
        with suppress(OSError):
            os.rmdir(each)


def _emptied(found: Iterator[os.DirEntry[str]]) -> Iterator[str]:
    """Remove files and links; the folders are told."""
    for each in found:
        if each.is_dir(follow_symlinks=False):
            yield each.path
        else:
            with suppress(OSError):
                os.unlink(each.path)
