"""A real model in this process, behind OpenAI's protocol; docs/explanation/real-models.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.conftest import Shop

HOME = Path("~/.cache/dialeval/model.gguf")
NAME = "local"


def model_file() -> Path:
    """DIALEVAL_GGUF, else a file in the user's cache; skips where there is none."""
    path = Path(os.environ.get("DIALEVAL_GGUF") or HOME).expanduser()
    if not path.is_file():
        pytest.skip(f"there is no model {path}: DIALEVAL_GGUF names a GGUF of a chat model")
    return path


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """Where the model is served: a free port of this machine, one answer at a time."""
    runtime = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    params = runtime.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {NAME}
    params.n_ctx, params.n_parallel = 8192, 1
    params.cache_ram_mib = 512  # its own default is 8 GiB
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.verbosity = 0
    server = runtime.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """As in tests/plugin, and with time for a small machine."""
    for name in [each for each in os.environ if each.startswith("DIALEVAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("DIALEVAL_TURN_TIMEOUT", "600")
    monkeypatch.setenv("DIALEVAL_TIMEOUT", "3000")
    monkeypatch.setenv("DIALEVAL_CONCURRENCY", "2")
    return Shop(pytester)
