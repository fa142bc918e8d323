"""Objects of the user's own modules, imported so that nothing else changes."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from os.path import isfile
from pathlib import Path
from types import ModuleType

from pytest_dialeval.conversation.fault import message_of, place_of, shortened
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.wording import closest, did_you_mean, meaning

_LAST_LINE = 500


def imported(reference: str, folders: Sequence[Path]) -> object:
    """The object of `module:object` or `file.py:object`, looked up in the folders in order."""
    source, _, path = reference.rpartition(":")
    if not source or not path:
        text = f"{reference!r} names no object; write python:module:object or python:file.py:object"
        raise HarnessFault(text)
    module = _file(source, folders) if source.endswith(".py") else _module(source, folders)
    value: object = module
    for name in path.split("."):
        value = _attribute(value, name, source)
    return value


def missing_object(reference: str, folders: Sequence[Path]) -> str:
    """What is surely not there of `file.py:object`, told without running the file; else empty.

    To import a client may need a key: what only reads suites must not ask for it.
    """
    source, _, path = reference.rpartition(":")
    if not source.endswith(".py"):
        return ""
    file = _path(source, folders)
    if file is None:
        return _no_file(source, folders)
    names, name = _names(file), path.partition(".")[0]
    if names is None or name in names:
        return ""
    return f"{source!r} has no {name!r}{did_you_mean(name, names)}"


def _names(file: Path) -> set[str] | None:
    """Every name that the file may define; None where only running it would tell."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # told where it is imported
        return None
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="globals" | "vars" | "locals" | "exec" | "setattr"):
                return None
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
    return None if found & {"*", "__getattr__"} else found


def _attribute(owner: object, name: str, source: str) -> object:
    try:
        return getattr(owner, name)
    except AttributeError:
        public = [each for each in dir(owner) if not each.startswith("_")]
        raise HarnessFault(f"{source!r} has no {name!r}{did_you_mean(name, public)}") from None


def _file(source: str, folders: Sequence[Path]) -> ModuleType:
    path = _path(source, folders)
    if path is None:
        raise HarnessFault(_no_file(source, folders))
    return _loaded(path.resolve(), source, folders)


def _path(source: str, folders: Sequence[Path]) -> Path | None:
    return next((each / source for each in folders if isfile(each / source)), None)


def _no_file(source: str, folders: Sequence[Path]) -> str:
    names = [each.name for folder in folders for each in (folder / source).parent.glob("*.py")]
    guess = closest(Path(source).name, names)
    meant = meaning(guess and Path(source).with_name(guess).as_posix())
    return f"there is no file {source!r} in {places(folders)}{meant}"


def _loaded(path: Path, source: str, folders: Sequence[Path]) -> ModuleType:
    """The file's module under a name of its own: two suites may each have an agent.py."""
    digest = blake2b(str(path).encode(errors="surrogateescape"), digest_size=6).hexdigest()
    name = f"dialeval_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look for it there
    try:
        with _importing(source, [path.parent, *folders]):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module(source: str, folders: Sequence[Path]) -> ModuleType:
    here = _module_file(source, folders)
    if here is not None and "." not in source and here.name != "__init__.py":
        return _loaded(here, source, folders)
    with _importing(source, folders):
        module = importlib.import_module(source)
    known = getattr(module, "__file__", None)
    if here is not None and known is not None and Path(known).resolve() != here:
        # Python knows one module a name; taking the other one would be wrong in silence.
        text = f"module {source!r} was imported from {known!r} before, so {str(here)!r} is hidden"
        raise HarnessFault(f"{text}; name the file: python:path/to/file.py:object")
    return module


def _module_file(source: str, folders: Sequence[Path]) -> Path | None:
    stem = Path(*source.split("."))
    for folder in folders:
        for path in (folder / stem / "__init__.py", folder / stem.with_name(f"{stem.name}.py")):
            if isfile(path):
                return path.resolve()
    return None


@contextmanager
def _importing(source: str, folders: Sequence[Path]) -> Iterator[None]:
    """The folders in front of sys.path for a moment; what the import raises is one message."""
    before = list(sys.path)
    importlib.invalidate_caches()  # the file may be younger than Python's list of the folder
    sys.path[:0] = list(dict.fromkeys(str(each) for each in folders))
    try:
        yield
    except (Exception, SystemExit) as error:
        last = shortened(f"{type(error).__name__}: {message_of(error)}", _LAST_LINE)
        text = f"{source!r} cannot be imported (looked in {places(folders)}): {last}"
        raise HarnessFault(f"{text}{place_of(error)}") from None
    finally:
        sys.path[:] = before


def places(folders: Sequence[Path]) -> str:
    """Where something was looked for."""
    return " and ".join(dict.fromkeys(str(each) for each in folders))
