"""How a user's line is disturbed on its way to the agent: a pure function of the draw.

Text only: it imitates what a transcriber writes down, and is no test of audio.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from pytest_dialeval.conversation.homophones import ENGLISH, MANDARIN
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.task import Noise

T = TypeVar("T")

Tongue = Literal["en", "zh"]

_HAN = re.compile("[\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_PAUSE = re.compile("[,，、] ?")
_WORD = re.compile("[A-Za-z']+")
_CLOSING = " \n.,;:!?…。，、；：！？"

_FILLERS: Mapping[Tongue, Sequence[str]] = {
    "en": ("um", "uh", "well", "you know", "I mean"),
    "zh": ("嗯", "呃", "那个", "就是", "怎么说呢"),
}
_INTERRUPTIONS: Mapping[Tongue, Sequence[str]] = {
    "en": ("Wait, wait. ", "Hold on. ", "Sorry, let me stop you there. ", "No, listen. "),
    "zh": ("等等，", "等一下，", "不好意思打断一下，", "你先听我说，"),
}


@dataclass(frozen=True, slots=True)
class _Dice:
    """The draws of one line; each purpose has its own."""

    draw: Draw
    state: str
    visit: int

    def unit(self, purpose: str) -> float:
        return self.draw.unit(f"noise {purpose}:{self.state}", self.visit)

    def choice(self, options: Sequence[T], purpose: str) -> T:
        return self.draw.choice(options, f"noise {purpose}:{self.state}", self.visit)


def disturbed(
    text: str, noise: Noise, draw: Draw, *, state: str, visit: int, language: str
) -> tuple[str, str | None]:
    """The line and the kind of noise in it; the line as it is and None where there is none."""
    dice = _Dice(draw, state, visit)
    if noise.rate <= 0 or dice.unit("rate") >= noise.rate:
        return text, None
    tongue = _tongue(text, language)
    # A kind that finds nothing to disturb gives way to the next, so that the rate holds.
    for kind in sorted(noise.kinds, key=lambda each: dice.unit(f"kind {each}")):
        changed = _KINDS[kind](text, tongue, dice) if tongue or kind == "broken" else text
        if changed != text and changed.strip():
            return changed, kind
    return text, None


def _tongue(text: str, language: str) -> Tongue | None:
    if _HAN.search(text) and not _KANA.search(text):
        return "zh"
    return "en" if language.lower().startswith(("en", "zh")) else None


def _filler(text: str, tongue: Tongue | None, dice: _Dice) -> str:
    if tongue is None:
        return text
    filler = dice.choice(_FILLERS[tongue], "filler")
    pause = _PAUSE.search(text)
    comma = "，" if tongue == "zh" else ", "
    if pause and pause.end() < len(text) and dice.unit("place") < 0.5:
        return f"{text[: pause.end()]}{filler}{comma}{text[pause.end() :]}"
    dots = "……" if tongue == "zh" else "... "
    return f"{filler[0].upper()}{filler[1:]}{dots}{text}"


def _interruption(text: str, tongue: Tongue | None, dice: _Dice) -> str:
    return text if tongue is None else dice.choice(_INTERRUPTIONS[tongue], "interruption") + text


def _broken(text: str, tongue: Tongue | None, dice: _Dice) -> str:
    """The first 40 to 80 hundredths of the line; a line of three words or fewer stays whole."""
    spaced = tongue != "zh" and " " in text.strip()
    pieces = text.split() if spaced else list(text)
    if len(pieces) < 4:
        return text
    kept = max(2, int(len(pieces) * (0.4 + 0.4 * dice.unit("cut"))))
    head = (" " if spaced else "").join(pieces[:kept]).rstrip(_CLOSING)
    if not head.strip(_CLOSING):
        return text
    return head + ("……" if tongue == "zh" else "...")


def _misheard(text: str, tongue: Tongue | None, dice: _Dice) -> str:
    if tongue is None:
        return text
    found = _mandarin(text) if tongue == "zh" else _english(text)
    if not found:
        return text
    start, end, heard = dice.choice(found, "place")
    return text[:start] + heard + text[end:]


def _mandarin(text: str) -> list[tuple[int, int, str]]:
    return [
        (found.start(), found.end(), heard)
        for said, heard in MANDARIN.items()
        for found in re.finditer(said, text)
    ]


def _english(text: str) -> list[tuple[int, int, str]]:
    words = [(each.start(), each.end(), each.group()) for each in _WORD.finditer(text)]
    return [
        (start, end, _cased(ENGLISH[word.lower()], word))
        for start, end, word in words
        if word.lower() in ENGLISH
    ]


def _cased(heard: str, said: str) -> str:
    if len(said) > 1 and said.isupper():
        return heard.upper()
    return heard[0].upper() + heard[1:] if said[0].isupper() else heard


_KINDS: Mapping[str, Callable[[str, Tongue | None, _Dice], str]] = {
    "filler": _filler,
    "asr": _misheard,
    "broken": _broken,
    "interruption": _interruption,
}
