"""Whether a phrase is denied where it is said: 我们不能保证退款, we can't promise a refund.

Only the phrase's own clause counts. Two negations cancel each other. What is unsure counts as not
denied: a breach that is shown can be looked at, one that is excused cannot.
"""

from __future__ import annotations

import re

from pytest_dialeval.matching.normal import Normal

# A refusal is in the phrase's own sentence; more text before it is not read.
_READ_AT_MOST = 200

# Idioms that hold a negation but deny nothing of what follows come first and count nothing.
_IDLE = "|".join(
    (
        "能不能|会不会|是不是|可不可以|要不要|行不行|好不好|有没有|不仅|不但|不光|不只|不止|不过|不管|不论"
        "|无论|不如|不妨|不错|不少|不断|不久|差不多|对不起|不好意思|不客气|不然|要不|没问题|没关系|没事"
        "|不要?紧|未来|特别|分别|个别|级别|区别|差别|类别|别人|别的|性别|识别|鉴别|告别|辨别",
        "不(?:用|必|要|需要?)(?:再)?(?:担心|着急|急|怕|客气|忘|错过|花|付)",
        "不(?:会|能|可能)?(?:影响|耽误|妨碍|延迟|推迟|拖延|取消|少|差|忘记?|缺|让[您你]|亏|后悔|错"
        "|骗)",
        "没有?(?:任何)?(?:问题|关系|后顾之忧|风险|套路|门槛|条件|理由)",
        "(?:can't|cannot|can not) wait|not (?:only|just|merely|simply)|why not|or not"
        "|not a problem",
        "(?:do|does|did|will|would|should)(?:n't| not) (?:even )?(?:worry|hesitate|forget|miss"
        "|mind|need|have|require)",
        "(?:wo|ca|do|does|is|could|would)n't (?:affect|delay|impact|stop|prevent|void|cancel|lose"
        "|cost)",
        "not (?:affect|delay|impact|stop|prevent|void|cancel|lose|required)",
        "no[ -](?:need|problem|worries|doubt|matter|charge|cost|fees?|questions?|hassle|risk|extra"
        "|additional|strings|obligation)",
        "without (?:any |a |the )?(?:doubt|questions?|hesitation|delay|fail|hassle|charge|cost"
        "|trouble|problems?|exception|asking|having|needing|conditions?)",
    )
)
_DENIES = "|".join(
    (
        "不(?:能|会|可以|可能|可|得|予|给|提供|支持|承诺|保证|答应|接受|同意|办理|做|是|敢|允许|许|准|存在"
        "|包括|包含|属于|适用|符合|满足|享受|再|应|该|要|代表|意味着|等于|构成|想|愿|一定|见得|太|大可能|方便|便"
        "|确定|清楚|知道|了解)|未必",
        "没(?:有?办法|法|能|有|说|承诺|答应|保证|提供|给)|无(?:法|权|从)|未(?:能|曾)|从未|并非|绝非|决非|禁止|严禁|拒绝|谢绝|杜绝|难以"
        "|请?勿|切勿|别再",
        r"\b(?:ca|could|wo|would|should|do|does|did|is|are|was|were|must|have|has|had|need|ai|sha)n't\b",
        r"\b(?:not|cannot|cant|wont|dont|never|no|nor|neither|nobody|none|without|unable|impossible"
        r"|unlikely|hardly|refus(?:e|es|ed)|declin(?:e|es|ed)|forbid(?:s|den)?|prohibit(?:s|ed)?"
        r"|den(?:y|ies|ied)|ineligible|fail(?:s|ed)? to)\b",
    )
)
# Glued to the phrase these deny it, further away they deny something else (不收手续费退款).
_DENIES_NEXT = "不|没|无|未|非|别|勿"
_NEGATION = re.compile(f"(?P<idle>{_IDLE})|(?P<denies>{_DENIES}|(?:{_DENIES_NEXT})$)")

_CLAUSE_END = re.compile(
    r"[!?;:\n。…]|\.(?!\d)|,(?!\d)|--| - "
    "|但是?|不过|可是|然而|而是|所以|因此|否则|不然|那么|就"
    "|(?:而且|并且|也|并|更|又|且)(?=不|没|无|绝|从|未)"
    r"|\b(?:but|however|although|though|instead|whereas|while|otherwise|because|since|nor"
    r"|so(?= (?:we|i|you|they)\b)|and(?= (?:we |i )?(?:will|can|would|shall|could|may)\b))\b"
)
# A new subject begins a new clause, unless the words before it take one (不代表我们, sure I).
_SUBJECT = re.compile(r"\b(?:we|i|he|she|they|you)\b(?!-)|我们|我司|我|平台|公司|[您你](?!的)")
_EMBEDS = re.compile(
    r"(?:\b(?:that|if|whether|think|believe|sure|certain|say|saying|mean|promis(?:e|ing)"
    r"|guarantee(?:ing)?|confirm|know|see|assure|offer|offering|give|giving|get|send|help|let|allow"
    r"|tell|grant|provide|issue|pay|refund|for|to|with|of|from|where|what|how) "
    "|保证|承诺|说|觉得|认为|意味着|代表|表示|等于|知道|确定|同意|允许|接受|支持|批准|受理|办理|答应|帮助"
    "|哪[个家]|[是给由让与和跟同向对帮为替请])$"
)
_CONDITION = re.compile(r"\b(?:if|unless|in case)\b|如果|要是|假如|倘若|若|万一|一旦|只要")
# How far from the phrase a negation may stand that belongs to it and not to the condition before.
_NEXT_TO = 3

_DENIED_AFTER = re.compile(
    r"\s?(?:这个|这|那个|那|我们|我|目前|暂时|确实|真的|是|的|都|也)*"
    "(?:不可能|不行|不可以|不允许|不支持|不提供|做不到|办不到|没办法|不了|不予|不被允许|不存在"
    "|(?:无法|不能|没法)(?:保证|承诺|办理|提供|做|给|实现|满足|答应))"
    r"|s? (?:is|are|was|were|can|could|will|would|may|must)(?:n't|not| not| never)"
    r" (?:be )?(?:currently |something )?(?:possible|available|allowed|permitted|offered|guaranteed"
    r"|promised|provided|granted|issued|given|approved|an option|we |i |covered|applicable|in my)"
)

# `refunds, discounts, or credits`: things in a row that share one verb. Whatever could begin a new
# statement, or a question, is none: a list in doubt ends the clause at its commas.
_AFTER_A_LIST = (
    "for|to|on|in|at|with|without|as|after|before|under|until|by|from|because|unless|once|if|when"
    "|here|anymore|whatsoever"
)
_WORD = (
    rf"(?!(?:{_AFTER_A_LIST}|i|we|you|he|she|it|they|us|me|them|this|that|these|those|there"
    r"|is|are|was|were|am|be|can|could|will|would|shall|should|may|might|must|do|does|did|has|have|had"
    r"|while|so|and|but|or|nor|yet|then|please|sorry|thanks|yes|no|not|just|let|only|apply|applies"
    r"|available)\b)[a-z][a-z'-]*+"
)
_THING = rf"{_WORD}(?: {_WORD}){{0,3}}"
_LIST = re.compile(
    rf"(?<!\bno),(?: {_THING},){{0,6}} (?:{_THING}, or {_THING}|{_THING} or {_WORD})"
    rf"(?=[.!;:,)\n]| (?:{_AFTER_A_LIST})\b)"
)


def is_negated(text: Normal, start: int, end: int) -> bool:
    """Whether what stands at text[start:end] is denied by its own clause."""
    begun = max(0, start - _READ_AT_MOST)
    window = text.lined[begun : end + _READ_AT_MOST]
    if end + _READ_AT_MOST >= len(text.lined):
        window += "\n"  # the end of the text, not of what is read
    before = _clause(_joined(window, start - begun))
    after = text.lined[end : end + _READ_AT_MOST]
    return (_denials(before) + bool(_DENIED_AFTER.match(after))) % 2 == 1


def _joined(window: str, at: int) -> str:
    """The text before a phrase; the commas of a list that it stands in end no clause."""
    before = window[:at]
    for each in _LIST.finditer(window):
        if each.start() < at < each.end():
            return before[: each.start()] + before[each.start() :].replace(",", " ")
    return before


def _denials(clause: str) -> int:
    condition = _CONDITION.search(clause)
    only_from = len(clause) - _NEXT_TO
    return sum(
        1
        for each in _NEGATION.finditer(clause)
        if each["denies"]
        and (condition is None or each.start() < condition.start() or each.end() >= only_from)
    )


def _clause(before: str) -> str:
    """The part of the text before a phrase that belongs to the phrase's clause."""
    start = 0
    for each in _CLAUSE_END.finditer(before):
        # `nor` ends one clause and denies the next.
        start = each.start() if each.group() == "nor" else each.end()
    for each in _SUBJECT.finditer(before, start):
        if not _EMBEDS.search(before, start, each.start()):
            start = each.start()
    return before[start:]
