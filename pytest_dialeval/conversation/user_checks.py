"""What is checked of a model's line before the agent hears it: by code, never by a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_dialeval.conversation.user_prompt import INSTRUCTIONS
from pytest_dialeval.conversation.user_reply import UnusableLine
from pytest_dialeval.matching.language import is_foreign
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.models.cassette import NONCE
from pytest_dialeval.records.task import Persona, State

LONGEST = 600  # characters; twice the longest line of the state, where that is more
# Words in a row that nobody says by chance. A description of the user gives facts, which are to
# be said, so more of it must be read out before it counts.
_OF_OURS = 7
_OF_DESCRIPTION = 16
_OF_A_GOAL = 3
_COPIED = 0.8  # share of a line's runs of three words that the agent has just said
_COPY_AT_LEAST = 8  # words
_HEARD = 20_000  # characters of the agent's turn that are compared: a line is short

_WORD = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]|\\w+")
# The same of ASCII, many times as fast: its words for split(), and its letters alone.
_LETTERS = {code: None for code in range(128) if not chr(code).isalnum()}
_APART = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
_NO_LETTER = re.compile(r"[\W_]+")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_SPEAKER = re.compile(
    r"\W*(?:agent|assistant|bot|representative|operator|customer|user|caller"
    r"|客服|坐席|助手|助理|机器人|顾问|客户|用户|顾客)\W*:"
)
_SERVES = re.compile(
    r"\b(?:how|what) (?:can|may) i (?:help|assist|do for) you\b"
    r"|\banything else (?:that )?i can (?:help|assist|do for you)\b"
    r"|\bi(?:'m| am) (?:really |very |so )?sorry,? (?:but )?"
    r"i (?:can't|cannot) (?:help|assist)(?: you)? with\b"
    r"|有什么(?:可以|能)(?:够)?(?:帮|为)(?:到)?[您你]|(?:很|非常)高兴(?:能)?为[您你]服务"
    r"|更好地?(?:为[您你]服务|服务[您你])"
)
_MACHINE = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bi(?:'m| am) (?:just )?an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|作为(?:一个|一名)?(?:ai|人工智能|语言模型)|我(?:只)?是(?:一个|一名)?(?:ai|人工智能|语言模型)"
)
_PART = re.compile(
    r"\b(?:customer|user|caller), not (?:an?|the|your) (?:agent|assistant|operator)\b"
    r"|不是(?:客服|助手|助理),?(?:我)?(?:只|而)?是(?:一个|一名)?(?:客户|顾客|用户)"
)
# Each with words that its texts must hold, for `in` is many times as fast as a search.
ROLES = (
    (
        _SERVES,
        ("help", "assist", "do for", "帮", "为", "服务"),
        "it offered help as the agent does: you are the customer",
    ),
    (
        _MACHINE,
        ("ai", "artificial", "language model", "人工智能", "语言模型"),
        "it called you a machine: you are the customer",
    ),
    (_PART, (", not ", "不是"), "it spoke of the part that you play: speak as the customer"),
)
# A recorded line has the cassette's own word where the mark's stood.
_FORM = re.compile(rf'<<<|{re.escape(NONCE)}|"(?:say|done|note)"\s*:')


@dataclass(frozen=True, slots=True)
class Expected:
    """What a line is measured by."""

    persona: Persona
    state: State
    language: str
    nonce: str
    said: Sequence[str]  # the user's lines so far
    heard: Sequence[str]  # the agent's turns so far
    instructions: str = INSTRUCTIONS  # our own words to the model


def check_line(line: str, expected: Expected) -> None:
    """UnusableLine says why the line cannot be sent."""
    if not normal(line).text.strip(" .…。"):  # the form has "..." where words go
        raise UnusableLine("empty", "there were no words in `say`")
    _check_length(line, expected.state)
    _check_secrets(line, expected)
    _check_role(line, expected)
    _check_new(line, expected.said)
    _check_language(line, expected)


def _check_length(line: str, state: State) -> None:
    most = max(LONGEST, 2 * max(map(len, state.say), default=0))
    if len(line) > most:
        raise UnusableLine("long", f"it had {len(line)} characters: say it in {most} at most")


def _check_secrets(line: str, expected: Expected) -> None:
    """No part of what the model was told, but for what it was told to say."""
    text = normal(line).text
    if expected.nonce in text or _FORM.search(text):
        raise UnusableLine("leaked", "it held a mark or a key of the form: say words alone")
    script = expected.persona.script.states.values()
    lines = [each for state in script for each in state.say]
    goals = [each.goal for each in script]
    told = [*lines, *goals, *expected.heard]
    if reads_out(line, [expected.instructions], told, _OF_OURS):
        raise UnusableLine("leaked", "it read out your instructions: speak as the customer")
    described = [expected.persona.personality, *expected.persona.traits.values(), *goals]
    if reads_out(line, described, [*lines, *expected.heard], _OF_DESCRIPTION):
        raise UnusableLine("leaked", "it read out how you are described: speak as the customer")
    key = _key(line)
    if any(key == _key(each) and _weight(_words(each)) >= _OF_A_GOAL for each in goals) and all(
        key != _key(each) for each in lines
    ):
        raise UnusableLine("leaked", "it read out what you are to do: do it, as the customer")


def _check_role(line: str, expected: Expected) -> None:
    """The user does not turn into the agent."""
    text = normal(line).text
    if _SPEAKER.match(text):
        raise UnusableLine("role", "it began with the name of a speaker: say the words alone")
    for pattern, held, why in ROLES:
        found = any(map(text.__contains__, held)) and pattern.search(text)
        if found and found[0] not in _told(expected.persona):
            raise UnusableLine("role", why)
    if expected.heard and _copies(line, expected.heard[-1], expected.state.say):
        raise UnusableLine("role", "it said what the agent has just said: answer it")


def _told(persona: Persona) -> str:
    """All lines and goals of its script."""
    script = persona.script.states.values()
    return normal("\n".join(part for each in script for part in (*each.say, each.goal))).text


def _check_new(line: str, said: Sequence[str]) -> None:
    key = _key(line)
    if any(_key(each) == key for each in said):
        text = "you said the same before: go on, or say it in other words"
        raise UnusableLine("repeated", text)


def _check_language(line: str, expected: Expected) -> None:
    """Not where the script itself speaks another language than the task's."""
    wanted = expected.language
    if not is_foreign(line, wanted):
        return
    script = (each for state in expected.persona.script.states.values() for each in state.say)
    if not any(is_foreign(each, wanted) for each in script):
        raise UnusableLine("language", f"it was not in the language {wanted!r}")


def reads_out(line: str, texts: Sequence[str], allowed: Sequence[str], many: int) -> bool:
    """Whether that many words in a row stand in a text, and in none that may be said."""
    own = _words(line)
    size = 2 * many if _is_wide(own) else many
    texts = [each for each in texts if _may_share_run(own, each, size)]
    if not texts:
        return False
    runs = set(_runs(own, size))
    found = {run for each in texts for run in runs & _runs_in(each, size)}
    return bool(found) and bool(found - set(_runs_of(allowed, size)))


def _copies(line: str, heard: str, say: Sequence[str]) -> bool:
    words = _words(line)
    if _weight(words) < _COPY_AT_LEAST or _key(line) in map(_key, say):
        return False
    if not _may_share_run(words, heard[:_HEARD], 3):
        return False
    runs = set(_runs(words, 3))
    return len(runs & set(_runs(_words(heard[:_HEARD]), 3))) >= _COPIED * len(runs)


def _runs_of(texts: Iterable[str], size: int) -> Iterable[tuple[str, ...]]:
    return (run for each in texts for run in _runs(_words(each[:_HEARD]), size))


def _may_share_run(words: Sequence[str], text: str, size: int) -> bool:
    """False where no `size` words in a row are all words of the text: sooner told than runs."""
    if len(words) < size:
        return False
    known, row = _vocabulary(text), 0
    for each in words:
        row = row + 1 if each in known else 0
        if row == size:
            return True
    return False


@lru_cache(maxsize=64)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(_words(text))


@lru_cache(maxsize=128)
def _runs_in(text: str, size: int) -> frozenset[tuple[str, ...]]:
    # Instructions and scripts are compared with every line.
    return frozenset(_runs(_words(text), size))


def _runs(words: Sequence[str], size: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(size)), strict=False)


@lru_cache(maxsize=8)  # for the checks of one line
def _words(text: str) -> Sequence[str]:
    """Words; in scripts without spaces each character is one."""
    folded = normal(text).text
    return folded.translate(_APART).split() if folded.isascii() else _WORD.findall(folded)


def _is_wide(words: Sequence[str]) -> bool:
    if all(map(str.isascii, words)):
        return False
    return sum(map(bool, map(_WIDE.match, words))) * 2 > len(words)


def _weight(words: Sequence[str]) -> float:
    """Chinese characters count half a word."""
    if all(map(str.isascii, words)):
        return len(words)
    return sum(0.5 if _WIDE.match(each) else 1 for each in words)


@lru_cache(maxsize=1024)  # each line is compared with all that the user said before
def _key(text: str) -> str:
    """The text as it is compared: punctuation and spaces make no line a new one."""
    folded = normal(text).text
    if folded.isascii():  # sooner than by a pattern
        return folded.translate(_LETTERS) or folded.strip()
    return _NO_LETTER.sub("", folded) or folded.strip()
