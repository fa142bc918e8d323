from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching import language
from pytest_dialeval.matching.language import is_foreign
from tests.matching.asking import ask, quotes, score, view

SAMPLES = {
    "zh": "您好，请问您现在方便吗？课程升级是免费的。",
    "en": "Hello, how can I help you with your order today?",
    "ja": "こんにちは、ご予約の確認をお願いします。",
    "ko": "안녕하세요, 무엇을 도와드릴까요?",
    "ru": "Здравствуйте, чем я могу вам помочь?",
    "ar": "مرحبا، كيف يمكنني مساعدتك اليوم؟",
    "es": "Hola, ¿cómo puedo ayudarle con su reserva para el lunes?",
    "fr": "Bonjour, je suis là pour vous aider avec votre réservation.",
    "de": "Guten Tag, wie kann ich Ihnen mit der Bestellung helfen?",
    "it": "Buongiorno, come può essere utile il suo ordine per la consegna?",
    "pt": "Olá, você pode confirmar a sua reserva para o dia, por favor?",
}


@pytest.mark.parametrize("spoken", SAMPLES)
@pytest.mark.parametrize("wanted", SAMPLES)
def test_each_is_told_from_the_others(spoken: str, wanted: str) -> None:
    assert score("language", wanted, f"a: {SAMPLES[spoken]}") == float(spoken == wanted)


def test_the_ratio_of_turns_and_where_the_foreign_part_begins() -> None:
    result = ask(
        "language", "zh", view("a: 您好，请问方便吗", "a: 好的 Please hold the line for me")
    )
    assert (result.score, quotes(result)) == (0.5, ["Please hold the line for me"])


def test_the_tasks_language_is_the_default() -> None:
    assert score("language", None, "a: 您好，请问方便吗", language="zh-CN") == 1
    assert score("language", None, "a: 您好，请问方便吗", language="en") == 0
    result = ask("language", None, view("a: hello there", language="tlh"))
    assert result.score is None
    assert "'tlh' cannot be told" in result.reason


def test_foreign_names_and_words_without_a_language_do_no_harm() -> None:
    assert score("language", "zh", "a: 请下载 PayPal App 后登录账号") == 1
    assert score("language", "zh", "a: OK", "a: 123", "a: 👍") is None
    assert score("language", "en", "a: Thanks, 王先生! Your order is on the way to you") == 1


def test_the_share_can_be_set() -> None:
    line = "a: 好的好的 please hold on"
    assert score("language", {"is": "zh", "share": 0.5}, line) == 1
    assert score("language", {"is": "zh", "share": 0.9}, line) == 0


@pytest.mark.parametrize(
    ("text", "wanted", "foreign"),
    [
        ("Where is my parcel now?", "en", False),
        ("Where is my parcel now?", "zh-CN", True),
        ("请问我的包裹在哪里？", "en-GB", True),
        ("请问我的包裹在哪里？", "zh", False),
        ("OK", "zh", False),
        ("Var är mitt paket?", "sv", False),
        ("", "en", False),
    ],
)
def test_a_text_by_itself(text: str, wanted: str, foreign: bool) -> None:
    assert is_foreign(text, wanted) == foreign


@given(st.text(st.sampled_from("abcthe you 012_-.,!\n"), max_size=60))
def test_words_without_an_apostrophe_are_those_of_the_pattern(text: str) -> None:
    """They are cut without one, which is many times as fast."""
    read = language._read(text)
    assert read.translate(language._APART).split() == language._LATIN.findall(read)
