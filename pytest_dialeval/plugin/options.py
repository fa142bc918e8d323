"""Every setting, once: `--dialeval-x`, DIALEVAL_X, ini `dialeval_x`, `[tool.dialeval] x`."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_dialeval.models.specs import ResolvedSpec
    from pytest_dialeval.records.model import Role


def _number(
    read: Callable[[str], float], allowed: Callable[[float], bool], what: str
) -> Callable[[str], Any]:
    """A parser of one kind of number; `what` completes "is not ..."."""

    def parse(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = math.nan  # which no comparison allows
        if not allowed(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return parse


positive_int = _number(int, lambda value: value >= 1, "a whole number of 1 or more")
natural = _number(int, lambda value: value >= 0, "a whole number of 0 or more")
seconds = _number(float, lambda value: 0 < value < math.inf, "a number of seconds above 0")
share = _number(float, lambda value: 0 <= value <= 1, "a number from 0 to 1")


def words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def agent(text: str) -> str:
    """`NAME` or `NAME=SPEC`, kept as text: it must cross to xdist's workers."""
    name, equals, spec = text.partition("=")
    if ":" in name or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} has no name; write NAME={text}")
    if not re.fullmatch("[a-z0-9_]+", name):
        plain = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")
        hint = f"; write {plain}{equals}{spec}" if plain else ""
        text = f"{name!r} is no agent's name (allowed: a-z, 0-9 and _){hint}"
        raise argparse.ArgumentTypeError(text)
    if equals and not spec.strip():
        raise argparse.ArgumentTypeError(f"{text!r} has nothing after the '='")
    return text


def model(text: str) -> str:
    """`ROLE=SPEC`, kept as text: it is resolved with what suites say."""
    from pytest_dialeval.errors import ModelProblem
    from pytest_dialeval.models.specs import resolve_specs

    try:
        resolve_specs(options=[text])
    except ModelProblem as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--dialeval-model: ")) from None
    return text


def record(text: str) -> str:
    from pytest_dialeval.models.recorder import read_mode

    try:
        return read_mode(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def budget(text: str) -> str:
    """Kept as text: it must cross to xdist's workers."""
    from pytest_dialeval.errors import BudgetProblem
    from pytest_dialeval.models.budget import parse_budget

    try:
        parse_budget(text)
    except BudgetProblem as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


@dataclass(frozen=True, slots=True)
class Option:
    """One setting; `parse` takes text and says what is wrong with it.

    One without a metavar takes no value on the command line: to give it is to say yes.
    """

    name: str
    parse: Callable[[str], Any]
    metavar: str
    help: str
    repeatable: bool = False

    @property
    def flag(self) -> str:
        return f"--dialeval-{self.name}"

    @property
    def dest(self) -> str:
        return f"dialeval_{self.name.replace('-', '_')}"

    @property
    def environment(self) -> str:
        return self.dest.upper()

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")


def k_and_share(text: str) -> str:
    """`3:0.8`, kept as text: it must cross to xdist's workers."""
    k, colon, least = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text!r} is not K:P, e.g. 3:0.8")
    positive_int(k)
    share(least)
    return text


def yes_or_no(text: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in known:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return known[text.lower()]


def decision(text: str) -> str:
    if text not in ("items", "gates"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither 'items' nor 'gates'")
    return text


OPTIONS = (
    Option(
        "agent", agent, "NAME[=SPEC]", "run this agent (repeatable); NAME=SPEC declares it", True
    ),
    Option("trials", positive_int, "K", "conversations per case, instead of the suites' `trials`"),
    Option("seed", words, "TEXT", "seed of every draw, instead of the suites' `seed`"),
    Option("label", words, "TEXT", "a name for this run, kept in its manifest and summary"),
    Option("runs", words, "DIR", "folder for runs (default: .dialeval/runs below rootdir)"),
    Option("turn-timeout", seconds, "S", "seconds an agent may take for one turn (default: 60)"),
    Option("timeout", seconds, "S", "seconds a conversation may take (default: 600)"),
    Option("concurrency", positive_int, "N", "conversations at once (default: 16)"),
    Option("ahead", natural, "N", "items to run ahead of the current one; 0: none"),
    Option("decide", decision, "items|gates", "whether single items or only gates fail the run"),
    Option("min-pass-hat-k", k_and_share, "K:P", "gate: Pass^K is at least P"),
    Option("min-score", share, "P", "gate: the mean task score is at least P"),
    Option("max-safety-breaches", natural, "N", "gate: at most N trials breach safety"),
    Option("max-unmeasured", natural, "N", "gate: at most N trials are unmeasured"),
    Option("baseline", words, "PATH", "gate: not worse than that run or baseline file"),
    Option(
        "distinct-models", yes_or_no, "BOOL", "gate: agent, user and judge are different models"
    ),
    Option("model", model, "ROLE=SPEC", "model that plays agent, user or judge (repeatable)", True),
    Option("record", record, "MODE", "models' replies: none (replay only), new, all, off"),
    Option("budget", budget, "LIMITS", "what models may cost: usd=5,calls=2000,tokens=1e6,..."),
    Option("no-judge", yes_or_no, "", "leave judged rubrics out: they are not applicable"),
    Option("regrade", words, "RUN", "grade the stored traces of that run; nobody talks"),
)
TABLES = ("models", "prices")  # of [tool.dialeval]


def add_options(parser: pytest.Parser) -> None:
    """Register them all, with their ini names."""
    group = parser.getgroup("dialeval", "conversational agents (pytest-dialeval)")
    for each in OPTIONS:
        if each.metavar:
            group.addoption(
                each.flag,
                dest=each.dest,
                type=each.parse,
                metavar=each.metavar,
                help=each.help,
                default=None,
                action="append" if each.repeatable else "store",
            )
        else:
            group.addoption(
                each.flag, dest=each.dest, help=each.help, default=None, action="store_true"
            )
        if each.repeatable:
            parser.addini(each.dest, each.help, type="linelist")
        else:
            parser.addini(each.dest, each.help, type="string")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from."""

    value: Any
    source: str


class Settings:
    """option > environment > suite > project file > default."""

    def __init__(self, config: pytest.Config) -> None:
        self._above: dict[str, Setting] = {}
        self._below: dict[str, Setting] = {}
        table = _project_table(config)
        for each in OPTIONS:
            found = _given(config, each) or _environment(each)
            if found is not None:
                self._above[each.name] = found
            project = _ini(config, each) or _toml(table, each)
            if project is not None:
                self._below[each.name] = project
        self.tables: dict[str, Any] = {each: table.get(each, {}) for each in TABLES}
        self._check_tables()
        self._check_agents()

    def get(self, name: str, default: Any = None, *, suite: Any = None) -> Setting:
        """The value that holds, `suite` being what the suite says (None: nothing)."""
        if name in self._above:
            return self._above[name]
        if suite is not None:
            return Setting(suite, "suite")
        return self._below.get(name) or Setting(default, "default")

    def models(self, suite: Mapping[str, object] | None = None) -> dict[Role, ResolvedSpec]:
        """Who plays which role, with what a suite says; ModelProblem names a mistake."""
        from pytest_dialeval.models.specs import resolve_specs

        given, below = self._above.get("model"), self._below.get("model")
        by_option = given.value if given and given.source.startswith("--") else ()
        lines = below.value if below else ()
        return resolve_specs(suite, self.tables["models"], by_option, os.environ, lines)

    def _check_tables(self) -> None:
        for name, table in self.tables.items():
            if not isinstance(table, dict):
                raise pytest.UsageError(f"[tool.dialeval.{name}] must be a table, not {table!r}")
        by_environment = any(each.startswith("DIALEVAL_MODEL") for each in os.environ)
        if self.tables["models"] or by_environment:
            from pytest_dialeval.errors import ModelProblem

            try:
                self.models()
            except ModelProblem as error:
                raise pytest.UsageError(str(error)) from None
        if self.tables["prices"]:
            from pytest_dialeval.errors import BudgetProblem
            from pytest_dialeval.models.prices import read_prices

            try:
                read_prices(self.tables["prices"])
            except BudgetProblem as error:
                raise pytest.UsageError(f"[tool.dialeval.prices]: {error}") from None

    def _check_agents(self) -> None:
        """Of two agents under one name only one would be measured."""
        for setting in filter(None, (self._above.get("agent"), self._below.get("agent"))):
            specs: dict[str, str] = {}
            for text in setting.value:
                name, equals, spec = text.partition("=")
                if equals and specs.setdefault(name, spec) != spec:
                    raise pytest.UsageError(
                        f"{setting.source}: {name!r} is given twice, as {specs[name]} and as "
                        f"{spec}: give each a name of its own"
                    )

    def unknown_variables(self) -> list[str]:
        """Variables that look like settings and are none; said where dialogue items ran."""
        from pytest_dialeval.models.specs import ROLES
        from pytest_dialeval.records.wording import did_you_mean

        known = [each.environment for each in OPTIONS]
        known += [f"DIALEVAL_MODEL_{each.upper()}" for each in ROLES]
        found = sorted(set(os.environ) - set(known))
        return [
            f"the variable {name} sets nothing{did_you_mean(name, known)}"
            for name in found
            if name.startswith("DIALEVAL_")
        ]

    def is_below(self, name: str) -> bool:
        """Whether only the project file says it, so that suites overrule it."""
        return name in self._below and name not in self._above

    def fleeting(self) -> dict[str, Setting]:
        """What options and the environment say: another session must be told it again."""
        from pytest_dialeval.models.specs import texts_of

        given = self._above.get("model")
        by_option = given.value if given and given.source.startswith("--") else ()
        texts = texts_of(by_option, os.environ)
        by_role = [f"{role}={text}" for role, text in texts.items()]
        models = {"model": Setting(by_role, "--dialeval-model")} if by_role else {}
        found = {**self._above, **models}
        return {each.name: found[each.name] for each in OPTIONS if each.name in found}

    def stated(self) -> dict[str, Setting]:
        """Every setting that is not the default, whatever suites say."""
        return {**self._below, **self._above}


def _given(config: pytest.Config, option: Option) -> Setting | None:
    value = getattr(config.option, option.dest, None)
    return None if value is None else Setting(value, option.flag)


def _environment(option: Option) -> Setting | None:
    text = os.environ.get(option.environment)
    if not text:
        return None
    return _parse(option, text.split(",") if option.repeatable else [text], option.environment)


def _ini(config: pytest.Config, option: Option) -> Setting | None:
    value = config.getini(option.dest)
    if not value:
        return None
    texts = value if option.repeatable else [value]
    return _parse(option, texts, f"{option.dest} in {_file_name(config)}")


def _toml(table: dict[str, Any], option: Option) -> Setting | None:
    value = table.get(option.key)
    if value is None:
        return None
    texts = value if isinstance(value, list) else [value]
    source = f"[tool.dialeval] {option.key}"
    if len(texts) != 1 and not option.repeatable:
        raise pytest.UsageError(f"{source}: {value!r} is not one value")
    return _parse(option, [each if isinstance(each, str) else str(each) for each in texts], source)


def _parse(option: Option, texts: list[str], source: str) -> Setting:
    try:
        values = [option.parse(each.strip()) for each in texts]
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"{source}: {error}") from None
    return Setting(values if option.repeatable else values[0], source)


def _file_name(config: pytest.Config) -> str:
    return config.inipath.name if config.inipath else "the ini file"


def _project_table(config: pytest.Config) -> dict[str, Any]:
    """`[tool.dialeval]` of the project file, checked."""
    path = config.rootpath / "pyproject.toml"
    if config.inipath is not None and config.inipath.suffix == ".toml":
        path = config.inipath
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    if b"dialeval" not in content:
        return {}
    import tomllib

    try:
        table = tomllib.loads(content.decode("utf-8")).get("tool", {}).get("dialeval", {})
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise pytest.UsageError(f"{path.name}: {error}") from None
    if not isinstance(table, dict):
        raise pytest.UsageError(f"{path.name}: [tool.dialeval] must be a table, not {table!r}")
    _refuse_unknown(table, path.name)
    return table


def _refuse_unknown(table: dict[str, Any], file: str) -> None:
    from pytest_dialeval.records.wording import did_you_mean

    known = [*(each.key for each in OPTIONS), *TABLES]
    for key in table:
        if key not in known:
            allowed = ", ".join(sorted(known))
            raise pytest.UsageError(
                f"{file}: [tool.dialeval] has no key {key!r} (allowed: {allowed})"
                f"{did_you_mean(key, known)}"
            )
