"""Fresh copies of a folder, far from the project that it comes from."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.suites.folder import Survey, survey

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW
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
    """Everything in it too, however deep, also what was made read-only; what can't go stays.

    Whoever worked there may have put a link anywhere, in the folder's own place too, and may do so
    while this goes on: what a link leads to is not touched.
    """
    top = _opened(folder)
    if top is None:
        with suppress(OSError):
            os.unlink(folder)
        return
    try:
        _empty(top)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(folder)


def _empty(top: int) -> None:
    """Folders below are moved to the top, one after another: no path is too long that way."""
    mark, number = uuid4().hex, count()
    waiting = _emptied(top)
    while waiting:
        name = waiting.pop()
        folder = _opened(name, top)
        if folder is None:
            continue
        try:
            for each in _emptied(folder):
                make_ours(each, folder)
                moved = f"{mark}-{next(number)}"
                with suppress(OSError):
                    os.rename(each, moved, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(moved)
        finally:
            os.close(folder)
        with suppress(OSError):
            os.rmdir(name, dir_fd=top)


def _emptied(folder: int) -> list[str]:
    """Remove files and links; the names of folders are told."""
    folders = []
    with suppress(OSError), os.scandir(folder) as found:
        for each in found:
            if each.is_dir(follow_symlinks=False):
                folders.append(each.name)
                continue
            with suppress(OSError):
                os.unlink(each.name, dir_fd=folder)
    return folders


def _opened(name: str | Path, above: int | None = None) -> int | None:
    """A folder with all rights; None for what is none, such as a link to one."""
    make_ours(name, above)
    try:
        return os.open(name, _FOLDER | os.O_RDONLY, dir_fd=above)
    except OSError:
        return None


def make_ours(name: str | Path, above: int | None = None) -> None:
    """All rights on a folder, through no link. Linux has no call for it, but a way to the same."""
    with suppress(OSError):
        if os.chmod in os.supports_follow_symlinks:
            os.chmod(name, stat.S_IRWXU, dir_fd=above, follow_symlinks=False)
            return
        folder = os.open(name, _FOLDER | os.O_PATH, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{folder}", stat.S_IRWXU)
        finally:
            os.close(folder)
