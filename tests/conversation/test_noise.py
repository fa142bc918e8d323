from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_dialeval.conversation.homophones import ENGLISH, MANDARIN
from pytest_dialeval.conversation.noise import disturbed
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.task import Noise
from tests.conversation.stage import draw

KINDS = ("filler", "asr", "broken", "interruption")
ZH = "我不知道这个费用是多少，你能不能再说一遍。"
EN = "I know their price, but where can I see it?"


def every(text: str, *kinds: str, language: str = "en", rate: float = 1.0) -> set[str]:
    """All that the line becomes over fifty visits."""
    return {noisy(text, *kinds, language=language, rate=rate, visit=each)[0] for each in range(50)}


def noisy(
    text: str, *kinds: str, language: str = "en", rate: float = 1.0, visit: int = 0
) -> tuple[str, str | None]:
    noise = Noise(rate, kinds)
    return disturbed(text, noise, draw(), state="start", visit=visit, language=language)


def test_filler():
    for text in every(EN, "filler"):
        pieces = {"Um... ", "Uh... ", "Well... ", "You know... ", "I mean... "}
        middle = {"um, ", "uh, ", "well, ", "you know, ", "I mean, "}
        assert any(text == piece + EN for piece in pieces) or any(
            text == f"I know their price, {piece}but where can I see it?" for piece in middle
        )
    assert len(every(EN, "filler")) == 10
    assert "嗯……" + ZH in every(ZH, "filler", language="zh")
    assert ZH.replace("多少，", "多少，那个，") in every(ZH, "filler", language="zh")


def test_asr_writes_one_word_as_another():
    assert every(EN, "asr") == {
        EN.replace("know", "no"),
        EN.replace("their", "there"),
        EN.replace("price", "prize"),
        EN.replace("where", "wear"),
        EN.replace("see", "sea"),
    }
    heard = every(ZH, "asr", language="zh")
    assert ZH.replace("知道", "指导") in heard and ZH.replace("费用", "废用") in heard


def test_asr_keeps_capitals_and_longer_words():
    assert noisy("Know it", "asr") == ("No it", "asr")
    assert noisy("KNOW IT", "asr") == ("NO IT", "asr")
    assert noisy("knowledge", "asr") == ("knowledge", None)


def test_broken_breaks_off():
    for text in every("one two three four five six seven eight nine ten", "broken"):
        words = text.removesuffix("...").split()
        assert text.endswith("...") and 4 <= len(words) < 8
        assert words == "one two three four five six seven eight nine ten".split()[: len(words)]
    assert all(text.endswith("……") and ZH.startswith(text[:-2]) for text in every(ZH, "broken"))
    assert noisy("yes, thank you", "broken") == ("yes, thank you", None)


def test_interruption_comes_before():
    assert "Hold on. " + EN in every(EN, "interruption")
    assert "等等，" + ZH in every(ZH, "interruption", language="zh")
    assert all(text.endswith(EN) and text != EN for text in every(EN, "interruption"))


def test_another_language_is_only_broken_off():
    french = "Je ne sais pas combien ça coûte"
    assert every(french, "filler", "asr", "interruption", language="fr") == {french}
    assert all(each.endswith("...") for each in every(french, *KINDS, language="fr"))
    japanese = "料金はいくらですか"
    assert every(japanese, "filler", "interruption", language="ja") == {japanese}


def test_a_kind_that_finds_nothing_gives_way_to_another():
    assert {noisy("ok", "asr", "broken", "filler", visit=each)[1] for each in range(50)} == {
        "filler"
    }


def test_the_rate_holds():
    touched = [noisy(EN, *KINDS, rate=0.3, visit=each)[1] for each in range(2000)]
    counts = {kind: touched.count(kind) for kind in KINDS}
    assert 530 < sum(counts.values()) < 670  # 600, and three standard deviations
    assert all(110 < each < 190 for each in counts.values())
    assert every(EN, *KINDS, rate=0) == {EN}


def test_noise_depends_on_nothing_but_the_draw():
    assert noisy(EN, *KINDS, visit=3) == noisy(EN, *KINDS, visit=3)
    assert noisy(EN, "filler")[0] == noisy(EN, "filler", rate=0.999)[0]


@settings(deadline=None)
@given(
    st.text(min_size=1).filter(str.strip),
    st.sampled_from(["en", "zh", "fr"]),
    st.lists(st.sampled_from(KINDS), unique=True),
    st.integers(0, 1000),
)
@example("    a b", "en", ["broken"], 0)
@example("，，，，我", "zh", ["broken"], 0)
@example(". . . . .", "en", ["broken"], 0)
def test_no_line_becomes_blank(text: str, language: str, kinds: list[str], seed: int):
    noise = Noise(1.0, tuple(kinds))
    line, kind = disturbed(
        text, noise, Draw(str(seed), "t", "p", 1), state="s", visit=0, language=language
    )
    assert line.strip()
    assert (kind is None) == (line == text)
    assert kind is None or kind in kinds


def test_homophones_differ_and_touch_no_number():
    numbers = set("零一二两三四五六七八九十百千万亿半0123456789")
    words = {"one", "won", "two", "to", "too", "four", "for", "ate", "eight"}
    for said, heard in MANDARIN.items():
        assert said != heard and not numbers & set(said + heard)
    for said, heard in ENGLISH.items():
        assert said != heard and not words & {said, *heard.split()}
        assert said == said.lower()
