"""Files that a suite names, found from its folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.place import Place
from pytest_dialeval.traces.disk import nearest


def inside(place: Place, written: str, rootdir: Path) -> Path | None:
    """A file that must lie inside rootdir, symlinks resolved; problems are noted and give None."""
    real = _within(place, written, rootdir, "file")
    return real if real and found(place, written) else None


def folder_inside(place: Place, written: str, rootdir: Path) -> Path | None:
    """The same for a folder."""
    real = _within(place, written, rootdir, "folder")
    try:
        if real is None or real.is_dir():
            return real
        what = "is a file, not a folder" if real.exists() else f"is not there{nearest(real)}"
    except OSError as exc:
        what = f"can't be read: {exc.strerror}"
    where = f"paths are taken from {place.source.path.parent.name}/"
    place.error(f"{shown(written)} {what}; {where}")
    return None


def _within(place: Place, written: str, rootdir: Path, kind: str) -> Path | None:
    if Path(written).is_absolute():
        place.error(f"{shown(written)} must be a path from this file's folder, not an absolute one")
        return None
    path = place.source.path.parent / written
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a symlink that leads to itself
        place.error(f"{shown(written)} can't be followed: it is a circle of symbolic links")
        return None
    if not real.is_relative_to(rootdir.resolve()):
        place.error(
            f"{shown(written)} leaves the root folder of this run: move the {kind} inside it"
        )
        return None
    return real


def found(place: Place, written: str, remedy: str = "", *, folder: bool = False) -> Path | None:
    """An existing file from the folder of the file that names it; absolute paths are kept.

    `folder`: whether a folder will do.
    """
    path = place.source.path.parent / written
    try:
        if path.is_file() or (folder and path.is_dir()):
            return path
        what = "is a folder, not a file" if path.is_dir() else f"is not there{nearest(path)}"
    except OSError as exc:
        what = f"can't be read: {exc.strerror}"
    where = f"paths are taken from {place.source.path.parent.name}/"
    place.error(f"{shown(written)} {what}; {where}{remedy}")
    return None


def is_within(path: str) -> bool:
    """Whether a path with slashes stays in its folder and names something there."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\\" not in path
