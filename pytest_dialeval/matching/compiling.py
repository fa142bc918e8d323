"""What a suite wrote below a matcher's name -> a check that can run, or what is wrong with it."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic

from pytest_dialeval.errors import SpecError
from pytest_dialeval.matching.combining import Children
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Where
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import UNKNOWN_KEY, unknown_key, unknown_matcher
from pytest_dialeval.records.rubric import JUDGE
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.verdict import MatcherResult
from pytest_dialeval.records.wording import closest, did_you_mean

Path = tuple[str | int, ...]
Found = tuple[Path, str]
# Nobody reads deeper nesting, and Python's own stack would end it with a traceback.
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Check:
    """A matcher with its parameters, ready for any number of views."""

    method: str
    boolean: bool
    scope: str
    run: Callable[[View], MatcherResult]
    slow: bool = False  # even on a short text

    def __call__(self, view: View) -> MatcherResult:
        """What it finds in the view."""
        return self.run(view)


def spec_of(method: str, value: object, matchers: Mapping[str, Matcher]) -> MatcherSpec:
    """The spec of `method: value` as written; a bare value fills the matcher's shorthand."""
    matcher = matchers.get(method)
    if value is None:
        return MatcherSpec(method)
    if matcher is not None and matcher.shorthand is not None:
        is_child = issubclass(matcher.params, Children) and not _is_params(value)
        if is_child or not isinstance(value, Mapping):
            return MatcherSpec(method, {matcher.shorthand: value})
    if isinstance(value, Mapping):
        return MatcherSpec(method, value)
    return MatcherSpec(method, {"": value})


def compile_spec(spec: MatcherSpec, matchers: Mapping[str, Matcher]) -> Check:
    """The check that the spec asks for; SpecError names the first thing that is wrong."""
    check, found = _compile(spec, matchers, depth=0)
    if check is None:
        path, text = found[0]
        raise SpecError(".".join(map(str, (spec.method, *path))), text)
    return check


def spec_problems(spec: MatcherSpec, matchers: Mapping[str, Matcher]) -> list[Found]:
    """Everything wrong with a spec: (path below the method's value, message)."""
    return _compile(spec, matchers, depth=0)[1]


def _compile(
    spec: MatcherSpec, matchers: Mapping[str, Matcher], depth: int
) -> tuple[Check | None, list[Found]]:
    matcher = matchers.get(spec.method)
    if matcher is None:
        return None, [((), _unknown(spec.method, matchers))]
    if issubclass(matcher.params, Children):
        return _compile_combinator(matcher, spec, matchers, depth)
    if "" in spec.params:
        text = f"{spec.params['']!r} is no mapping (keys: {', '.join(_keys(matcher)) or 'none'})"
        return None, [((), text)]
    try:
        given = matcher.params.model_validate(dict(spec.params))
    except pydantic.ValidationError as error:
        return None, [*_all_told(error.errors(include_url=False), matcher)]
    return _check(matcher, given), []


def _check(matcher: Matcher, given: Any) -> Check:
    def run(view: View) -> MatcherResult:
        return matcher.match(view, given)

    return Check(
        matcher.name, matcher.boolean(given), matcher.scope(given), run, matcher.slow(given)
    )


def _compile_combinator(
    matcher: Matcher, spec: MatcherSpec, matchers: Mapping[str, Matcher], depth: int
) -> tuple[Check | None, list[Found]]:
    if depth >= _DEEPEST:
        return None, [((), f"matchers are nested more than {_DEEPEST} deep")]
    written = spec.params.get("of", spec.params)
    many = matcher.name != "not"
    if many and not (isinstance(written, list | tuple) and written):
        return None, [((), f"{matcher.name!r} takes a list of matchers, not {written!r}")]
    children = enumerate(written) if many else [((), written)]  # type: ignore[arg-type]
    checks: list[Check] = []
    found: list[Found] = []
    for place, child in children:
        below: Path = (place,) if isinstance(place, int) else ()
        check, wrong = _compile_child(child, matchers, depth + 1)
        found += [((*below, *path), text) for path, text in wrong]
        checks += [check] if check else []
    return (None, found) if found else (_check(matcher, tuple(checks)), [])


def _compile_child(
    child: object, matchers: Mapping[str, Matcher], depth: int
) -> tuple[Check | None, list[Found]]:
    if isinstance(child, str):
        child = {child: None}
    if not isinstance(child, Mapping) or len(child) != 1:
        return None, [((), f"{child!r} must name one matcher, as in `keyword: {{any: [...]}}`")]
    [(method, value)] = child.items()
    check, found = _compile(spec_of(str(method), value, matchers), matchers, depth)
    return check, [((str(method), *path), text) for path, text in found]


def _is_params(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"of"}


def _unknown(method: str, matchers: Mapping[str, Matcher]) -> str:
    if method == JUDGE:
        return "the judge cannot be combined with matchers; write it as a rubric of its own"
    return unknown_matcher(method, matchers)


def _keys(matcher: Matcher) -> list[str]:
    """Its own keys before those that it shares with others."""
    keys = [field.alias or name for name, field in matcher.params.model_fields.items()]
    return sorted(keys, key=lambda key: key in Where.model_fields)


def _all_told(errors: Iterable[Any], matcher: Matcher) -> Iterator[Found]:
    """Each of pydantic's errors, but for a key that is missing because it is misspelt."""
    errors = list(errors)
    keys = _keys(matcher)
    typos = [str(each["loc"][-1]) for each in errors if each["type"] == "extra_forbidden"]
    meant = {closest(each, keys) for each in typos}
    for each in errors:
        if each["type"] != "missing" or each["loc"][-1] not in meant:
            yield _told(each, matcher)


def _told(error: Any, matcher: Matcher) -> Found:
    """One of pydantic's errors in our words."""
    path: Path = tuple(error["loc"])
    name = str(path[-1]) if path else matcher.name
    match error["type"]:
        case "extra_forbidden":
            if len(path) > 1:
                return path, f"{UNKNOWN_KEY} {name!r} of {path[-2]}"
            return path, unknown_key(name, matcher.name, _keys(matcher))
        case "missing":
            return path[:-1], f"{matcher.name!r} needs the key {name!r}"
        case "literal_error":
            allowed = error["ctx"]["expected"]
            close = did_you_mean(str(error["input"]), re.findall("'([^']*)'", allowed))
            return path, f"{error['input']!r} is not allowed here; allowed: {allowed}{close}"
        case "too_short":
            return path, f"{error['input']!r} is empty; it needs at least one entry"
    text = error["msg"][:1].lower() + error["msg"][1:]
    # What is wrong with the whole needs no copy of the whole.
    return path, f"{reprlib.repr(error['input'])}: {text}" if path else text
