"""The kinds of follow-up that come with the plugin: what each is to do, and lines for it.

A line names facts of the conversation in braces (records.follow_up.FIELDS). Each behaviour has at
least one line that needs none.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.records.follow_up import Behaviour

_ALL = (
    # ---- work on code
    Behaviour(
        "debug-followup",
        "ask how the agent knows that its work is right: the cause, what was run and what came "
        "out; doubt what is claimed without evidence",
        {
            "en": (
                "Before we go on: how do you know that this works? Show me what you ran, and what "
                "came out.",
                "{failing} still fails. What is the cause, and what is the smallest change that "
                "mends it?",
                "You ran `{command}`. What exactly did it show, and does that prove your change?",
                "I see this: {error}. Where does it come from? Please find out before you change "
                "anything else.",
            ),
            "zh": (
                "先等一下：你怎么知道这样就对了？请给我看你运行了什么，结果是什么。",
                "{failing} 还是失败。根本原因是什么？最小的改动是什么？",
                "你运行了 `{command}`。它到底显示了什么？这能证明你的改动是对的吗？",
                "我看到这个：{error}。它是从哪里来的？请先查清楚，再改别的。",
            ),
        },
    ),
    Behaviour(
        "add-tests",
        "ask for a focused test that fails without the change and passes with it, and that it is "
        "run",
        {
            "en": (
                "Please add a focused test that fails without your change and passes with it, and "
                "run it.",
                "You changed {files}. Please add a test for exactly that, and show me its result.",
                "Which test covers this? If there is none, add one, and one for the edge case.",
            ),
            "zh": (
                "请加一个有针对性的测试：没有你的改动时失败，有了就通过，并运行它。",
                "你改了 {files}。请正好针对这个加一个测试，并给我看结果。",
                "哪个测试覆盖了这里？如果没有，请加一个，再加一个边界情况的。",
            ),
        },
    ),
    Behaviour(
        "correct-requirement",
        "say what was misread or is more exact now in the request, without changing its subject, "
        "and ask that the work is held against it",
        {
            "en": (
                "One thing more exactly: keep all behaviour that I did not ask to change as it "
                "was. Please check that, and correct what differs.",
                'I asked for this: "{request}" Please hold your work against it word by word, and '
                "correct what does not fit.",
                "You touched {files}. Please keep to what I asked for, and undo whatever it does "
                "not need.",
            ),
            "zh": (
                "说得更准确一点：我没有要求改的行为都要保持原样。请检查，并改正不一致的地方。",
                "我要求的是：“{request}”请逐字对照你的结果，改正不符合的地方。",
                "你动了 {files}。请只做我要求的，其余的改动请撤掉。",
            ),
        },
    ),
    Behaviour(
        "failure-report",
        "report what fails, with its message where one is known, or ask for a run from a clean "
        "state; leave it to the agent to find out why",
        {
            "en": (
                "Please run everything once more from a clean state, and report each failure, "
                "also those that look unrelated.",
                "It fails on my side: {error}. Please look into it.",
                "{failing} fails here. Please reproduce it first, and then fix it.",
            ),
            "zh": (
                "请从干净的状态重新运行一遍，报告每一个失败，看起来无关的也要。",
                "在我这边失败了：{error}。请查一下。",
                "{failing} 在我这里失败。请先复现，再修复。",
            ),
        },
    ),
    Behaviour(
        "rejection-rollback",
        "reject the change as it stands, ask to take it back to the smallest one that solves the "
        "problem",
        {
            "en": (
                "I do not want it like this. Please take it back to the smallest change that "
                "solves the problem.",
                "Please revert what you did in {files} as far as my request does not need it, and "
                "tell me what remains.",
                "I reject this approach. Roll it back, and propose a simpler one before you write "
                "anything.",
            ),
            "zh": (
                "我不要这样的改动。请退回到能解决问题的最小改动。",
                "请撤销你在 {files} 里我的要求不需要的部分，并告诉我还剩下什么。",
                "我不接受这个做法。请回滚，先提出一个更简单的，再动手写。",
            ),
        },
    ),
    Behaviour(
        "repo-understanding",
        "ask how the code in question works and who depends on it, to see whether the agent has "
        "understood it",
        {
            "en": (
                "Before I review this: how does this part work, and who else depends on it?",
                "Why is {files} the right place for this? Who calls that code?",
                "Is there anything here already that does this? Please look before you add code.",
            ),
            "zh": (
                "在我审查之前：这一部分是怎么工作的？还有谁依赖它？",
                "为什么 {files} 是改这个的合适地方？谁会调用那段代码？",
                "这里是不是已经有做这件事的代码？加代码之前请先看看。",
            ),
        },
    ),
    Behaviour(
        "security-maintainability-review",
        "ask about the risk of the change: untrusted input, swallowed errors, leaks, and what "
        "makes it hard to maintain",
        {
            "en": (
                "Look at your change as a security reviewer would: which untrusted input reaches "
                "it, and what happens then?",
                "What will make {files} hard to maintain in a year? Please mend what is cheap to "
                "mend now.",
                "Does this weaken a check, swallow an error or leak something into a log? Show me "
                "where you looked.",
            ),
            "zh": (
                "请像安全审查员一样看你的改动：哪些不可信的输入会到这里？那时会发生什么？",
                "一年以后，{files} 的什么会难以维护？现在容易改的请现在改。",
                "这会不会削弱某个检查、吞掉错误，或把东西泄露到日志里？请给我看你查了哪里。",
            ),
        },
    ),
    Behaviour(
        "final-cleanup",
        "finish: ask to remove what is left over, to check that all that was asked for still "
        "holds, and to sum up change, tests and risk",
        {
            "en": (
                "Last thing: remove debug output and leftovers, and sum up what changed, how it "
                "was tested and which risk remains.",
                "We are nearly done. Please go through {files} once more, remove what is not "
                "needed, and sum it up as for a commit message.",
                'Please check that all I asked for still holds, this too: "{earlier}" Then sum up.',
            ),
            "zh": (
                "最后一件事：去掉调试输出和残留，并总结改了什么、怎么测试的、还有什么风险。",
                "快完成了。请把 {files} 再过一遍，去掉不需要的，并像提交说明那样总结。",
                "请检查我要求过的一切是否仍然成立，包括这个：“{earlier}”然后总结。",
            ),
        },
        only_last=True,
    ),
    # ---- talks of service
    Behaviour(
        "changed-mind",
        "want something else than before, and ask whether that is still possible",
        {
            "en": (
                "I have thought about it again, and would rather do it another way. What are my "
                "options?",
                'Sorry, I have changed my mind. I first said: "{request}" Can that be changed?',
                "Hold that for a moment, please. What would it mean if I leave everything as it "
                "is?",
            ),
            "zh": (
                "我又想了一下，还是想换一种方式。我有哪些选择？",
                "不好意思，我改主意了。我一开始说的是：“{request}”现在还能改吗？",
                "先别办。如果一切都保持原样，会怎么样？",
            ),
        },
    ),
    Behaviour(
        "missing-information",
        "not have at hand what the agent asked for or needs, and ask how to go on without it",
        {
            "en": (
                "I do not have that at hand. Can you go on without it?",
                'You said: "{said}" I do not know that. Where would I find it?',
                "I can't look that up at the moment. What else could I tell you instead?",
            ),
            "zh": (
                "这个我手边没有。没有它能继续吗？",
                "你说：“{said}”这个我不知道。在哪里能找到？",
                "我现在查不到。我可以告诉你别的什么来代替吗？",
            ),
        },
    ),
    Behaviour(
        "contradiction",
        "say that what the agent says does not fit what was said before, and ask which is right",
        {
            "en": (
                "That is not how I understood it before. Which of the two is right?",
                'You have just said: "{said}" That does not fit what I was told before. Which is '
                "it?",
                "I was told something else on the phone yesterday. Who is right?",
            ),
            "zh": (
                "这和我之前理解的不一样。到底哪个是对的？",
                "你刚才说：“{said}”这和之前告诉我的不一致。到底是哪个？",
                "昨天电话里跟我说的是另一回事。谁说得对？",
            ),
        },
    ),
    Behaviour(
        "complaint",
        "complain about effort, delay or tone, politely or not as the customer is, and want it "
        "settled",
        {
            "en": (
                "I have to say that this takes far too long. I want it settled today.",
                'I asked for one thing: "{request}" Why is that so hard?',
                "This is not good enough. What will you do about it, and by when?",
            ),
            "zh": (
                "我不得不说，这太久了。我希望今天就解决。",
                "我只要求一件事：“{request}”为什么这么难？",
                "这样不行。你们打算怎么办？什么时候？",
            ),
        },
    ),
    Behaviour(
        "confirmation-request",
        "ask the agent to confirm what was settled: what happens, by when, at what cost",
        {
            "en": (
                "So that I get this right: what exactly happens now, and by when?",
                'You said: "{said}" Can you confirm that, and what it will cost me?',
                "Please sum up what we have settled, so that I can write it down.",
            ),
            "zh": (
                "我确认一下：接下来具体会怎么办？什么时候？",
                "你说：“{said}”你能确认吗？这要花我多少钱？",
                "请把我们定下来的事情总结一下，我好记下来。",
            ),
        },
    ),
)
BEHAVIOURS: Mapping[str, Behaviour] = {each.id: each for each in _ALL}
