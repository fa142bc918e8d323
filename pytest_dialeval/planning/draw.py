"""Randomness as a pure function of what is drawn for (design rule 7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draw:
    """All draws of one trial; the agent is no part of it, so all agents meet the same user."""

    seed: str
    task: str
    persona: str
    trial: int

    def unit(self, purpose: str, index: int | str = 0) -> float:
        """A number in [0, 1): the same for the same purpose and index, else independent."""
        # JSON keeps the parts apart: ("a", "bc") and ("ab", "c") must not collide.
        parts = [self.seed, self.task, self.persona, self.trial, purpose, index]
        digest = blake2b(json.dumps(parts).encode(), digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> 11) / (1 << 53)

    def word(self, purpose: str, index: int = 0) -> str:
        """Fourteen hexadecimal digits."""
        return f"{int(self.unit(purpose, index) * (1 << 53)):014x}"

    def unseen_word(self, purpose: str, texts: Iterable[str]) -> str:
        """The first of such words that stands in none of the texts."""
        seen = [each.casefold() for each in texts]
        words = (self.word(purpose, index) for index in count())
        return next(word for word in words if not any(word in each for each in seen))

    def choice(self, options: Sequence[T], purpose: str, index: int | str = 0) -> T:
        """One of the options, each equally likely."""
        return options[int(self.unit(purpose, index) * len(options))]

    def weighted(self, weights: Sequence[float], purpose: str, index: int | str = 0) -> int:
        """A place in `weights`, as likely as its weight; they are >= 0 and not all 0."""
        if len(weights) == 1:
            return 0
        left = self.unit(purpose, index) * sum(weights)
        for place, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return place
        return max(place for place, weight in enumerate(weights) if weight > 0)
