"""Lines that YAML may have split at the commas of one sentence."""

from __future__ import annotations

import pytest

SUITE = """\
dialeval: 1
task: {id: t}
%spersonas:
  - id: p
    script:
      states:
        start:
          say: %s
          end: true
rubrics:
  - {id: r, dimension: completion, keyword: x}
  - {id: s, dimension: safety, not: {keyword: y}}
"""
SAID = (
    "are two lines, of which one is said at a time: if they are one sentence, put quotes round it"
)


@pytest.mark.parametrize(
    ("say", "pair"),
    [
        ("[Hello, my order is late.]", "'Hello' and 'my order is late.'"),
        ("[Hello, my order is late]", "'Hello' and 'my order is late'"),
        ("[Hi, I want to return this, please.]", "'I want to return this' and 'please.'"),
        ("[Yes, please.]", "'Yes' and 'please.'"),
        ("[Well, if you insist, then go on]", "'Well' and 'if you insist'"),
        ("[Ich weiß nicht, ähnlich wie gestern.]", "'Ich weiß nicht' and 'ähnlich wie gestern.'"),
    ],
)
def test_one_sentence_in_brackets_is_noted(notes, say, pair):
    assert notes(SUITE % ("", say)) == [f"s.dialeval.yaml:8: note: {pair} {SAID}"]


@pytest.mark.parametrize(
    "say",
    [
        "['Hello, my order is late.']",
        "'Hello, my order is late.'",
        "['Hello', my order is late.]",
        "[Hello, 'my order is late.']",
        "\n            - Hello\n            - my order is late.",
        "[hi, my order is late, please help]",  # whoever writes so, writes all lines so
        "[Hello, hi there]",
        "[Hello., my order is late.]",
        "[Yes, No]",
        "[Hello, Good morning to you all.]",
        "[iPhone, and nothing else.]",
        "[你好, 我的订单晚了]",
        "[OK]",
    ],
)
def test_lines_of_their_own_are_not(notes, say):
    assert notes(SUITE % ("", say)) == []


def test_lines_of_an_agent_are_looked_at_too(notes, write):
    write(
        "agent.yaml",
        """\
        opening: [Good day, how can I help?]
        replies:
          - when: {keyword: x}
            say: [Sure, let me look that up.]
        otherwise: [Sorry, that is beyond me.]
        """,
    )
    agent = "agents: {a: {use: scripted, script: agent.yaml}}\n"
    found = notes(SUITE % (agent, "Hello?"))
    assert [each.split(" and ")[0] for each in found] == [
        "agent.yaml:1: note: 'Good day'",
        "agent.yaml:4: note: 'Sure'",
        "agent.yaml:5: note: 'Sorry'",
    ]
