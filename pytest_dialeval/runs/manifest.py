"""manifest.json: what ran, frozen; secrets never."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path

from pytest_dialeval import __version__
from pytest_dialeval.records.run import Source
from pytest_dialeval.runs.command_line import redacted, without_secrets

SCHEMA = "dialeval.manifest/1"


@cache
def code_fingerprint() -> str:
    """A digest of this package's own sources: all that decides a verdict."""
    digest = blake2b(digest_size=16)
    package = Path(__file__).resolve().parents[1]
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


def manifest(
    run_id: str,
    sources: Sequence[Source],
    *,
    label: str | None,
    settings: Mapping[str, Mapping[str, object]],
) -> dict[str, object]:
    """The inputs of a run; `settings` are those that are not the default, with their source."""
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "label": label,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "plugin_version": __version__,
        "code": code_fingerprint(),
        "python": platform.python_version(),
        "platform": sys.platform,
        # `runs` is the folder that this file stands in, wherever it is moved.
        "settings": {name: _shown(each) for name, each in settings.items() if name != "runs"},
        "sources": {each.name: _frozen(each) for each in sources},
    }


def _frozen(source: Source) -> dict[str, object]:
    return {
        "suite": source.suite,
        "sha256": source.sha256,
        "files": dict(source.files),
        "task": source.task,
        "version": source.version,
        "seed": source.seed,
        "models": {name: dict(each) for name, each in source.models.items() if each},
        "agents": {
            name: {"use": without_secrets(source.uses.get(name, "")), "version": version}
            for name, version in source.agents.items()
        },
    }


def _shown(setting: Mapping[str, object]) -> dict[str, object]:
    return {**setting, "value": redacted(setting["value"])}
