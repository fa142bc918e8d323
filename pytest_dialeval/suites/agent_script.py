"""The words of a `scripted` agent, as read from its YAML file; conversation plays them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import ToolCall
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.suites.agent_form import AgentScriptForm, ReplyForm, ToolForm
from pytest_dialeval.suites.command_lines import shell_problem
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.paths import is_within
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import file_name
from pytest_dialeval.suites.source import Source, read_source
from pytest_dialeval.suites.spec import heard_from_user, read_spec
from pytest_dialeval.suites.split_lines import note_split
from pytest_dialeval.suites.wording import level

_AROUND = level(ReplyForm), level(AgentScriptForm)  # the mappings round a reply's condition
START = "start"  # the state a conversation begins in


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One entry of `replies`; it answers where `when` holds and `state` is the current state.

    `when` is a matcher over the user's last turn (`by: user` is filled in). One of `say` is drawn;
    an empty `say` says nothing and comes only with tools or `hang_up`.
    """

    say: tuple[str, ...] = ()
    when: MatcherSpec | None = None
    state: str | None = None  # None: in any state
    to: str | None = None  # the state after it; None: no change
    hang_up: bool = False
    tools: tuple[ToolCall, ...] = ()
    write: Mapping[str, str] = field(default_factory=dict)  # in the task's folder: path -> text
    delete: tuple[str, ...] = ()  # before it writes
    run: tuple[str, ...] = ()  # the words of a command, after it has written
    line: int = 0

    @property
    def acts(self) -> bool:
        """Whether it works in the task's folder."""
        return bool(self.write or self.delete or self.run)


@dataclass(frozen=True, slots=True)
class AgentScript:
    """Replies in the order in which they are tried; words are said as written, never filled."""

    replies: tuple[ScriptedReply, ...] = ()
    opening: tuple[str, ...] = ()  # one is drawn where the agent opens
    otherwise: tuple[str, ...] = ()  # one is drawn where no reply answers
    path: str = ""  # absolute
    sha256: str = ""

    @property
    def acts(self) -> int:
        """The line of the first reply that works in a folder; 0 where none does."""
        return next((each.line for each in self.replies if each.acts), 0)


def read_agent_script(path: Path, *, rootdir: Path, matchers: Mapping[str, Matcher]) -> AgentScript:
    """Read a scripted agent's file; SuiteError with every problem in it."""
    source = read_source(path, file_name(path, rootdir))
    script = script_in(source, matchers)
    if script is None or source.errors:
        raise SuiteError(source.errors)
    return script


def script_in(source: Source, matchers: Mapping[str, Matcher]) -> AgentScript | None:
    """The script that a file holds; problems are noted in it."""
    place = Place(source)
    form = place.read(AgentScriptForm)
    if form is None:
        _glean(place, matchers)
        return None
    note_split(place.at("opening"), form.opening)
    note_split(place.at("otherwise"), form.otherwise)
    replies = tuple(
        _reply(place.at("replies", index), each, matchers)
        for index, each in enumerate(form.replies)
    )
    script = AgentScript(
        replies, tuple(form.opening), tuple(form.otherwise), str(source.path), source.sha256
    )
    for line, text in _problems(script):
        source.add(line, text)
    return script


def _glean(place: Place, matchers: Mapping[str, Matcher]) -> None:
    """Note what is wrong with the matchers of a script that has no form."""
    for reply in place.items("replies"):
        when = reply.at("when")
        if isinstance(when.value, dict) and len(when.value) == 1:
            read_spec(when, when.value, matchers, _AROUND)


def _reply(place: Place, form: ReplyForm, matchers: Mapping[str, Matcher]) -> ScriptedReply:
    note_split(place.at("say"), form.say)
    run = place.at("run")
    if isinstance(run.value, str) and (problem := shell_problem(run.value)):
        run.error(problem)
    when = read_spec(place.at("when"), form.when, matchers, _AROUND) if form.when else None
    return ScriptedReply(
        say=tuple(form.say),
        when=heard_from_user(when, matchers) if when else None,
        state=form.state,
        to=form.to,
        hang_up=form.hang_up,
        tools=tuple(_tool(each) for each in form.tools),
        write=form.write,
        delete=tuple(form.delete),
        run=tuple(form.run),
        line=place.line,
    )


def _tool(form: ToolForm) -> ToolCall:
    result = form.result
    if result is not None and not isinstance(result, str):
        result = json.dumps(result, ensure_ascii=False)
    return ToolCall(form.name, form.arguments, result=result, error=form.error)


def _problems(script: AgentScript) -> Iterator[tuple[int, str]]:
    """Replies that say nothing or are never reached, and situations without an answer."""
    reached = {START, *(each.to for each in script.replies if each.to)}
    shadow: ScriptedReply | None = None
    for each in script.replies:
        if not (each.say or each.tools or each.hang_up or each.acts):
            yield each.line, "a reply needs something: say, tools, hang_up, write, delete or run"
        for path in (*each.write, *each.delete):
            if not is_within(path) and (path != "." or path in each.write):
                text = f"{shown(path)} must be a path inside the task's folder, such as src/a.py"
                yield each.line, text
        if shadow is not None:
            yield each.line, f"never said: the reply on line {shadow.line} always answers before it"
        elif each.state is not None and each.state not in reached:
            guess = did_you_mean(each.state, reached)
            yield each.line, f"no reply leads to state {each.state!r}: add `to:` to one{guess}"
        if each.when is None and each.state is None:
            shadow = shadow or each
    if shadow is None and not script.otherwise:
        yield 1, "otherwise is needed: what the agent says where no reply holds"
