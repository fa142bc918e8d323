"""Which agents a suite meets: what it declares, what the project offers, what an option says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_dialeval.plugin.options import Setting
    from pytest_dialeval.records.model import ModelSpec
    from pytest_dialeval.records.suite import AgentSpec, Suite

FIXTURE = "fixture"  # the agent's name, and its `use`, where a fixture brings it
HOOK = "hook"  # its `use` where pytest_dialeval_agents does
MODEL = "model"  # the agent's name where the role's model is all there is
_OF_MODEL = (
    *("base_url", "api_key_env", "temperature", "seed", "max_tokens"),
    *("requests_per_minute", "tokens_per_minute"),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """`--dialeval-agent`: NAME or NAME=SPEC, in the order given; options.py has checked them.

    `by_project`: the project file says so, which a suite's own `run` overrules.
    """

    names: tuple[str, ...] = ()
    specs: Mapping[str, str] | None = None
    by_project: bool = False
    source: str = "--dialeval-agent"

    @classmethod
    def parse(cls, setting: Setting, *, by_project: bool) -> Wanted:
        texts = setting.value or ()
        specs: dict[str, str] = {}
        names = []
        for text in texts:
            name, equals, spec = text.partition("=")
            names.append(name)
            if equals:
                specs[name] = spec
        return cls(tuple(dict.fromkeys(names)), specs, by_project, setting.source)

    def over(self, suite: Suite) -> Wanted:
        """What it asks of one suite."""
        return Wanted() if self.by_project and suite.own("run") else self


@dataclass(frozen=True, slots=True)
class Chosen:
    """The agents to run, and whether node ids show them."""

    specs: tuple[AgentSpec, ...]
    show: bool
    declared: tuple[str, ...]


def choose_agents(
    suite: Suite,
    wanted: Wanted,
    offered: Mapping[str, Any],
    *,
    has_fixture: bool,
    rootdir: str,
    model: ModelSpec | None = None,
) -> Chosen:
    """Agents of one suite with personas; empty `specs` where the option names others only.

    `model` plays the agent where nobody brings one.
    """
    from pytest_dialeval.records.suite import AgentSpec

    wanted = wanted.over(suite)
    declared = dict(suite.agents)
    if not declared and not wanted.specs:
        if has_fixture:
            declared = {FIXTURE: AgentSpec(FIXTURE, FIXTURE)}
        elif offered:
            declared = {each: AgentSpec(each, HOOK) for each in offered}
        elif model is not None:
            declared = {MODEL: _played_by(model)}
    for name, use in (wanted.specs or {}).items():
        declared[name] = AgentSpec(name, use, folder=rootdir)
    names = wanted.names or suite.run or tuple(declared)
    specs = tuple(declared[each] for each in names if each in declared)
    return Chosen(specs, show=len(declared) > 1, declared=tuple(declared))


def _played_by(model: ModelSpec) -> AgentSpec:
    from pytest_dialeval.records.suite import AgentSpec

    given = {key: getattr(model, key) for key in _OF_MODEL}
    options = {key: value for key, value in given.items() if value is not None}
    use = f"{model.endpoint}:{model.model}"
    return AgentSpec(MODEL, use, options=options, concurrency=model.concurrency)


def definition(spec: AgentSpec, anchor: str, rootdir: str) -> str:
    """A digest of what the agent is, the same in every checkout.

    `anchor` tells apart fixtures of one name.
    """
    parts = [spec.name, spec.use, anchor, dict(spec.options)]
    text = json.dumps(parts, default=repr, sort_keys=True).replace(rootdir, "")
    return blake2b(text.encode(), digest_size=8).hexdigest()
