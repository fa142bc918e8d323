"""A matcher as written, `NAME: parameters`, becomes a MatcherSpec whose parameters hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_dialeval.matching.combining import Children
from pytest_dialeval.matching.compiling import spec_of, spec_problems
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.wording import UNKNOWN_KEY, UNKNOWN_MATCHER, unknown_matcher
from pytest_dialeval.records.rubric import JUDGE
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.wording import Level, Path, dotted, misplaced

_SHOWN = 60
# What pydantic and Python call something, as suites do.
_KINDS = {
    "boolean": "true or false",
    "dictionary": "a mapping",
    "integer": "a whole number",
    "list": "a list",
    "number": "a number",
    "string": "text",
}
_VALUES = {"None": "nothing", "True": "true", "False": "false"}
BROKEN = MatcherSpec("")  # stands for a spec whose problem was noted


def read_spec(
    place: Place,
    raw: Mapping[str, object],
    matchers: Mapping[str, Matcher],
    around: Sequence[Level] = (),
) -> MatcherSpec:
    """The only matcher of a mapping; problems are noted at their own lines.

    `around` are the mappings that hold it, nearest first: a key may be one of theirs, misplaced.
    """
    ((name, value),) = raw.items()
    if name == JUDGE:
        place.at(name).error("judge can't be used here: give a matcher; only a rubric is judged")
        return BROKEN
    if name not in matchers:
        place.at(name).error(unknown_matcher(name, matchers))
        return BROKEN
    spec = spec_of(name, value, matchers)
    problems = spec_problems(spec, matchers)
    for path, text in problems:
        place.at(name, *path).error(_said((name, *path), text, around))
    return BROKEN if problems else spec


def _said(path: Path, text: str, around: Sequence[Level]) -> str:
    """A problem with the name of its place, and never in pydantic's own words."""
    if text.startswith((UNKNOWN_KEY, UNKNOWN_MATCHER)):
        hint = misplaced(str(path[-1]), around) if text.startswith(UNKNOWN_KEY) else ""
        return (
            re.sub(r"(?:; did you mean '[^']*'\?)?(?= \(keys: )", hint, text, count=1)
            if hint
            else text
        )
    name = dotted(path)
    if size := re.fullmatch(
        r".*: (?:list|string) should have (at least \d+ \w+).*", text, re.DOTALL
    ):
        return f"{name} must have {size[1]}"
    raw = re.fullmatch(r"(.*): input should be (?:a valid (\w+).*|(.*))", text, re.DOTALL)
    if raw is None:
        return f"{name}: {text}"
    value = _VALUES.get(raw[1], raw[1])
    value = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
    return f"{name} must be {_KINDS.get(raw[2], raw[2]) or raw[3]}, not {value}"


def heard_from_user(spec: MatcherSpec, matchers: Mapping[str, Matcher]) -> MatcherSpec:
    """The spec looking at the user's words wherever it doesn't say whose it looks at."""
    if spec.method not in matchers:
        return spec
    params = matchers[spec.method].params
    if issubclass(params, Children):
        return _children_from_user(spec, matchers)
    if "by" in params.model_fields and "by" not in spec.params:
        return MatcherSpec(spec.method, {**spec.params, "by": "user"})
    return spec


def _children_from_user(spec: MatcherSpec, matchers: Mapping[str, Matcher]) -> MatcherSpec:
    written = spec.params.get("of", spec.params)
    if isinstance(written, list):
        return MatcherSpec(spec.method, {"of": [_child(each, matchers) for each in written]})
    return MatcherSpec(spec.method, {"of": _child(written, matchers)})


def _child(written: object, matchers: Mapping[str, Matcher]) -> object:
    if isinstance(written, str):
        written = {written: None}
    if not isinstance(written, Mapping):
        return written
    specs = [spec_of(name, value, matchers) for name, value in written.items()]
    return {
        each.method: dict(changed.params)
        for each in specs
        for changed in [heard_from_user(each, matchers)]
    }
