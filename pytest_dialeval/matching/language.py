"""`language`: turns are in the language that they should be in."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, repeat
from typing import Literal, get_args

import pydantic

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.params import Where, scope
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import QUOTED_AT_MOST, QUOTED_CHARS, ids, not_searched
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import plural

Language = Literal["zh", "en", "ja", "ko", "ru", "ar", "es", "fr", "de", "it", "pt"]

# One Chinese character weighs as much as one word elsewhere.
_WORD = re.compile(
    "(?P<kana>[\u3040-\u30ff])|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    "|(?P<ko>[\uac00-\ud7af]+)|(?P<ru>[\u0400-\u04ff]+)|(?P<ar>[\u0600-\u06ff\u0750-\u077f]+)"
    "|(?P<latin>[a-z\u00df-\u024f]+(?:'[a-z]+)?)"
)
_LATIN = re.compile("[a-z]+(?:'[a-z]+)?")  # of it, what is ASCII
# The same for split() where there is no apostrophe: many times as fast.
_APART = {code: " " for code in range(128) if not chr(code).islower()}
_READ_AT_MOST = 2_000  # a language is told long before
# Words that hardly a sentence of the language does without, and that the others lack.
_COMMON: dict[str, frozenset[str]] = {
    "en": frozenset(
        "the and you your is are to of for with that this have can will i it we my be not please"
        " what how would our from thank thanks any there".split()
    ),
    "es": frozenset(
        "el los las una que usted su por para con está es puede gracias hola más pero del y al"
        " tiene reserva quiero como necesito muy".split()
    ),
    "fr": frozenset(
        "le les une est vous votre et pour avec dans je nous des du que pas merci bonjour sur ce"
        " êtes avez puis mais très oui au".split()
    ),
    "de": frozenset(
        "der die das und ist sie ihr ihre nicht ein eine mit für ich wir auf zu den dem bitte danke"
        " haben kann können guten wie von".split()
    ),
    "it": frozenset(
        "il lo gli una che per con è sono non grazie ciao della del più può suo sua di buongiorno"
        " questo ho vorrei prego anche".split()
    ),
    "pt": frozenset(
        "o os uma que você seu sua para com não é está obrigado obrigada olá mais mas do da em por"
        " pode tem muito quero ao".split()
    ),
}

_LANGUAGES_OF = {  # of each common word
    word: tuple(name for name, common in _COMMON.items() if word in common)
    for word in chain.from_iterable(_COMMON.values())
}


class LanguageParams(Where):
    """`is` defaults to the task's language; `share` of the words must be in it."""

    is_: Language | None = pydantic.Field(
        None, alias="is", description="the language; the task's where it is not given"
    )
    share: float = pydantic.Field(
        0.5, gt=0, le=1, description="the share of a turn's words that must be in it"
    )


def language() -> Matcher:
    """The fraction of the turns that are in the language; turns without words do not count."""
    return Matcher(
        "language", LanguageParams, _match, lambda params: params.one_turn, scope, shorthand="is"
    )


def is_foreign(text: str, wanted: str, share: float = 0.5) -> bool:
    """Whether less than the share of the words is in the language; False where it can't be told."""
    wanted = wanted.partition("-")[0].casefold()
    found = _share(text, wanted) if wanted in get_args(Language) else None
    return found is not None and found < share


def _match(view: View, params: LanguageParams) -> MatcherResult:
    wanted = params.is_ or view.language.partition("-")[0].casefold()
    expected = f"in {wanted}"
    if wanted not in get_args(Language):
        known = ", ".join(get_args(Language))
        return MatcherResult(None, f"{wanted!r} cannot be told; known: {known}", expected)
    turns = params.searched(view)
    if not turns:
        return not_searched(expected, params)
    shares = [(turn, share) for turn in turns if (share := _share(turn.text, wanted)) is not None]
    if not shares:
        reason = "no searched turn has words to tell by"
        return MatcherResult(None, reason, expected, searched=ids(turns))
    foreign = [turn for turn, share in shares if share < params.share]
    fitting = len(shares) - len(foreign)
    reason = f"{fitting} of {plural(len(shares), 'turn')} are {expected}"
    if foreign:
        reason += f"; turn {foreign[0].id} is not"
    quotes = tuple(_foreign_part(turn, wanted) for turn in foreign[:QUOTED_AT_MOST])
    return MatcherResult(fitting / len(shares), reason, expected, quotes, ids(turns))


def _share(text: str, wanted: str) -> float | None:
    """How much of the text is in the language; None where there is nothing to tell by."""
    read = _read(text)
    if read.isascii():  # most lines are, and then there is one script
        latin = _LATIN.findall(read) if "'" in read else read.translate(_APART).split()
        return None if len(latin) < 2 else float(wanted in _COMMON and _could_be(latin, wanted))
    words = [(each.lastgroup, each.group()) for each in _WORD.finditer(read)]
    latin = [word for script, word in words if script == "latin"]
    counts = Counter(script for script, _ in words)
    total = counts.total()
    if not total or (total < 2 and not counts["han"] + counts["kana"]):
        return None
    if wanted in ("zh", "ja"):
        # Japanese is told from Chinese by its kana, of which a sentence has plenty.
        is_japanese = counts["kana"] * 5 >= counts["kana"] + counts["han"] > 0
        mine = counts["han"] + counts["kana"] if is_japanese == (wanted == "ja") else 0
    elif wanted in _COMMON:
        mine = counts["latin"] if _could_be(latin, wanted) else 0
    else:
        mine = counts[wanted]
    return mine / total


def _could_be(words: list[str], wanted: str) -> bool:
    """Whether no other language has clearly more of its common words there."""
    found = list(chain.from_iterable(map(_LANGUAGES_OF.get, words, repeat(()))))
    if found.count(wanted) * 2 >= len(found) or len(found) < 2:  # no other can be clearly ahead
        return True
    hits = Counter(found)
    best = max(hits.values(), default=0)
    return hits[wanted] * 2 >= best or best < 2


def _read(text: str) -> str:
    return normal(text[:_READ_AT_MOST]).text


def _foreign_part(turn: Turn, wanted: str) -> Evidence:
    """From the first word that is not in the language's script on."""
    mine = {"zh": ("han",), "ja": ("han", "kana")}.get(
        wanted, ("latin",) if wanted in _COMMON else (wanted,)
    )
    text = normal(turn.text[:_READ_AT_MOST])
    for each in _WORD.finditer(text.text):
        if each.lastgroup not in mine:
            start = text.span(each.start(), each.end())[0]
            return Evidence(turn.id, turn.text[start : start + QUOTED_CHARS], start)
    return Evidence(turn.id, turn.text[:QUOTED_CHARS])
