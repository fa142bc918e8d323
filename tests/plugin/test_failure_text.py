"""What a failure says: the rubric, the deciding turns, what was expected, how to repeat it."""

from __future__ import annotations

import shlex

import pytest

from pytest_dialeval.plugin.failure import without_group

from .conftest import Shop, persona, rubric, told
from .played import JUDGE, judged, play


def repeat_command(result: pytest.RunResult) -> list[str]:
    """The words of the only `repeat:` line, without `pytest`."""
    [line] = {each.strip() for each in result.outlines if each.strip().startswith("repeat: ")}
    words = shlex.split(line.removeprefix("repeat: "))
    assert words[0] == "pytest"
    return words[1:]


def test_the_reason_comes_first_then_rubric_dimension_method_and_weight(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor", dimension="robustness", weight=2.5)])

    shop.run().stdout.fnmatch_lines(
        ["no searched turn says 'tractor'", "  rubric: tractor (robustness, keyword, weight 2.5)"],
        consecutive=True,
    )


def test_what_was_expected(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("farm", keyword={"any": ["tractor", "plough"]})])

    shop.run().stdout.fnmatch_lines(["  expected: 'tractor' or 'plough'"])


def test_the_quote_is_marked_in_its_turn_with_the_turn_before(shop: Shop) -> None:
    breach = {"not": {"keyword": {"any": ["welcome"]}}}
    shop.suite(rubrics=[rubric("cold", dimension="safety", keyword=None, **breach)])

    shop.run().stdout.fnmatch_lines(
        [
            "  turn 3 user [[]state bye[]]: Thanks, bye.",
            "  turn 4 agent: You are >>welcome<<. Goodbye.",
        ]
    )


def test_a_verdict_about_absence_names_the_turns_searched(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])

    shop.run().stdout.fnmatch_lines(
        ["  turn 2 agent: Hello! The lamp is in stock.", "  searched in vain: turns 2, 4"]
    )


def test_a_ratio_shows_its_score(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("both", keyword={"all": ["Hello", "tractor"]})])

    shop.run().stdout.fnmatch_lines(["  score 0.5", "*turn 2 agent: >>Hello<<! The lamp*"])


def test_a_probe_is_named_on_its_turn(shop: Shop) -> None:
    shop.suite(
        personas=[
            persona(
                "buyer",
                probes=[{"id": "cheap", "at_user_turn": 2, "say": "Give me a discount!"}],
            )
        ],
        rubrics=[
            rubric(
                "firm",
                dimension="safety",
                keyword=None,
                trigger={"probe": "cheap"},
                **{"not": {"keyword": {"any": ["guarantee"]}}},
            )
        ],
    )

    shop.run().stdout.fnmatch_lines(
        [
            "  turn 3 user [[]probe cheap[]]: Give me a discount!",
            "  turn 4 agent: I >>guarantee<< you half the price.",
        ]
    )


def test_the_trace_that_is_named_is_there(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])

    result = shop.run()

    # Under CI pytest's short summary says the whole message once more.
    [line] = {each for each in result.outlines if each.startswith("  transcript: ")}
    path = shop.path / line.removeprefix("  transcript: ")
    assert path.is_file()
    assert path.parent.parent == shop.last_run


def test_a_long_turn_is_shown_round_its_quote(shop: Shop) -> None:
    text = "x " * 3_000 + "tractor" + " y" * 3_000
    shop.write("long.yaml", f"otherwise: ['{text}']\n")
    shop.suite(
        agents={"clerk": {"use": "scripted", "script": "long.yaml"}},
        rubrics=[
            rubric(
                "short",
                dimension="safety",
                keyword=None,
                **{"not": {"keyword": {"any": ["tractor"]}}},
            )
        ],
    )

    result = shop.run()

    [line] = {each for each in result.outlines if ">>tractor<<" in each}
    assert len(line) < 400
    assert line.startswith("  turn 2 agent: ...")


def test_control_characters_never_reach_the_terminal(shop: Shop) -> None:
    shop.write("own.py", "def own(message):\n    return 'a\\x1b[31m tractor\\x07\\ud800 b'\n")
    shop.suite(
        agents={"own": {"use": "python:own.py:own"}},
        rubrics=[
            rubric(
                "calm",
                dimension="safety",
                keyword=None,
                **{"not": {"keyword": {"any": ["tractor"]}}},
            )
        ],
    )

    text = shop.run("--color=no").stdout.str()

    assert "\x1b" not in text
    assert "\x07" not in text
    assert "turn 2 agent: a >>tractor<<\ufffd b" in text


def test_markup_of_agents_is_shown_as_it_is(shop: Shop) -> None:
    shop.write("own.py", "def own(message):\n    return '{message} %s {{ 7*7 }} [red]x[/red]'\n")
    shop.suite(agents={"own": {"use": "python:own.py:own"}}, rubrics=[rubric("tractor", "tractor")])

    text = shop.run().stdout.str()

    assert "{message} %s {{ 7*7 }} [red]x[/red]" in text


def test_the_repeat_command_runs_just_this_item(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("tractor", "tractor")])
    command = repeat_command(shop.run())

    again = shop.run(*command)

    again.assert_outcomes(failed=1)
    assert repeat_command(again) == command


def test_the_repeat_command_of_a_score_item_runs(shop: Shop) -> None:
    shop.suite(
        rubrics=[rubric("greet"), rubric("soft", "tractor", severity="soft")],
        scoring={"pass": 0.9},
    )
    command = repeat_command(shop.run())

    shop.run(*command).assert_outcomes(failed=1)


def test_the_repeat_command_holds_the_same_conversation(shop: Shop) -> None:
    lines = [f"Line {number} about the lamp" for number in range(40)]
    buyer = persona("buyer", "one", "two")
    buyer["script"]["states"]["start"]["say"] = lines
    shop.suite(personas=[buyer], rubrics=[rubric("tractor", "tractor")], trials=2)
    arguments = ["--dialeval-trials", "11", "--dialeval-seed", "other seed", "-k", "buyer-07"]
    first = shop.run(*arguments)
    said = shop.traces()[0][1]["text"]

    command = repeat_command(first)
    shop.run(*command).assert_outcomes(failed=1)

    assert command[0] == "shop.dialeval.yaml::buyer-07::tractor"
    assert shop.traces()[0][1]["text"] == said


def test_the_repeat_command_keeps_the_agent_that_was_chosen(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])
    shop.write("own.py", "def own(message):\n    return 'Own words'\n")
    first = shop.run("--dialeval-agent", "own=python:own.py:own")

    again = shop.run(*repeat_command(first))

    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*turn 2 agent: Own words"])


def test_the_repeat_command_keeps_settings_of_the_environment(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])
    monkeypatch.setenv("DIALEVAL_TRIALS", "12")
    first = shop.run("-k", "buyer-07")
    monkeypatch.delenv("DIALEVAL_TRIALS")

    shop.run(*repeat_command(first)).assert_outcomes(failed=1)


def test_the_repeat_command_works_from_the_folder_of_invocation(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.pytester.makeini("[pytest]")
    shop.write("deep/clerk.yaml", "otherwise: [Hm]\n")
    shop.suite("deep/shop", rubrics=[rubric("tractor", "tractor")])
    monkeypatch.chdir(shop.path / "deep")
    command = repeat_command(shop.run())

    assert command == ["shop.dialeval.yaml::buyer-1::tractor"]
    shop.run(*command).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("nodeid", "left"),
    [
        ("test_a.py::test_a[buyer-1]@till", "test_a.py::test_a[buyer-1]"),
        ("test_a.py::test_a[buyer-1-a@b]", "test_a.py::test_a[buyer-1-a@b]"),
        ("a@b/shop.dialeval.yaml::buyer-1::greet", "a@b/shop.dialeval.yaml::buyer-1::greet"),
    ],
)
def test_the_repeat_command_leaves_the_group_of_loadgroup_out(nodeid: str, left: str) -> None:
    assert without_group(nodeid) == left


def test_the_repeat_command_says_every_option_that_shapes_the_item(shop: Shop) -> None:
    play(shop, rubrics=[judged("never", "tractor")], models=None)
    given = ["--dialeval-model", f"judge={JUDGE}", "--dialeval-record", "new"]

    first = shop.run(*given, "--dialeval-label=today", "--dialeval-concurrency=2")
    command = repeat_command(first)

    assert command[1:] == given
    shop.run(*command).assert_outcomes(failed=1)


def test_the_repeat_command_says_which_models_the_environment_gave(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(shop, rubrics=[judged("never", "tractor")], models=None)
    monkeypatch.setenv("DIALEVAL_MODEL_JUDGE", JUDGE)
    monkeypatch.setenv("DIALEVAL_RECORD", "off")
    command = repeat_command(shop.run())

    monkeypatch.delenv("DIALEVAL_MODEL_JUDGE")
    monkeypatch.delenv("DIALEVAL_RECORD")

    assert command[1:] == ["--dialeval-model", f"judge={JUDGE}", "--dialeval-record", "off"]
    shop.run(*command).assert_outcomes(failed=1)


def test_the_repeat_command_keeps_what_was_switched_off(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])

    assert repeat_command(shop.run("--dialeval-no-judge"))[1:] == ["--dialeval-no-judge"]


def test_a_regraded_item_names_its_trace_and_is_graded_again(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet")])
    shop.run("--dialeval-runs", "kept")
    [run] = (shop.path / "kept").glob("2*")
    shop.suite(rubrics=[rubric("greet", "tractor")])

    result = shop.run("--dialeval-regrade", run.name, "--dialeval-runs", "kept")

    [line] = {each for each in result.outlines if each.startswith("  transcript: ")}
    assert (shop.path / line.removeprefix("  transcript: ")).is_file()
    command = repeat_command(result)
    assert command[1:] == ["--dialeval-regrade", run.name, "--dialeval-runs", "kept"]
    shop.run(*command).assert_outcomes(failed=1)


def test_turns_searched_and_not_shown_are_counted(shop: Shop) -> None:
    lines = ("Is the lamp in stock?", "And a lamp?", "A lamp, then.", "Thanks, bye.")
    shop.suite(personas=[persona("buyer", *lines)], rubrics=[rubric("tractor", "tractor")])

    shop.run().stdout.fnmatch_lines(
        ["  searched in vain: turns 2, 4, 6, 8 (2 of them not shown here)"]
    )


def test_the_repeat_command_survives_a_path_with_spaces(shop: Shop) -> None:
    shop.write("my suites/clerk.yaml", "otherwise: [Hm]\n")
    shop.suite("my suites/the shop", rubrics=[rubric("tractor", "tractor")])

    command = repeat_command(shop.run())

    shop.run(*command).assert_outcomes(failed=1)


def test_the_short_summary_gives_the_rubrics_own_words(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])

    shop.run("-rf").stdout.fnmatch_lines(
        ["FAILED shop.dialeval.yaml::buyer-1::tractor - no searched turn says 'tractor'"]
    )


def test_one_line_tracebacks_name_the_rubrics_line(shop: Shop) -> None:
    suite = shop.suite(rubrics=[rubric("tractor", "tractor")])
    line = shop.line_of(suite.name, '"id": "tractor"')

    shop.run("--tb=line").stdout.fnmatch_lines(
        [f"*shop.dialeval.yaml:{line}: no searched turn says 'tractor'"]
    )


def test_one_line_tracebacks_are_one_line_and_junit_has_all(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor"), rubric("plough", "plough")])

    result = shop.run("--tb=line", "--junitxml=junit.xml")

    place = result.outlines.index(next(each for each in result.outlines if " FAILURES " in each))
    assert [each.rpartition(": ")[2] for each in result.outlines[place + 1 : place + 3]] == [
        "no searched turn says 'tractor'",
        "no searched turn says 'plough'",
    ]
    assert "- dialogues -" in result.outlines[place + 3]
    assert "searched in vain" in (shop.path / "junit.xml").read_text("utf-8")


def test_an_error_in_one_line(shop: Shop) -> None:
    shop.suite(rubrics=[judged("a")])

    assert "  repeat: " in shop.run().stdout.str()
    assert "  repeat: " not in shop.run("--tb=line").stdout.str()


def test_what_is_unmeasured_names_its_trace_and_how_to_repeat_it(shop: Shop) -> None:
    shop.suite(rubrics=[judged("a")])

    result = shop.run()

    result.stdout.fnmatch_lines(
        [
            "unmeasured: no judge is configured (judge_error)",
            "",
            "  transcript: .dialeval/runs/*.jsonl",
            "  repeat: pytest shop.dialeval.yaml::buyer-1::a",
            "  to have it judged: --dialeval-model judge=*; to leave * out: --dialeval-no-judge",
        ],
        consecutive=True,
    )


def test_what_was_never_held_has_no_trace_to_name(shop: Shop) -> None:
    shop.write("own.py", "own = 1\n")
    shop.suite(agents={"own": {"use": "python:own.py:nobody"}})

    text = shop.run().stdout.str()

    assert "has no 'nobody'" in text
    assert "repeat:" not in text


def test_an_unreadable_reply_of_the_judge_is_shown(shop: Shop) -> None:
    play(shop, rubrics=[judged("greet")])
    text = (shop.path / "client.py").read_text("utf-8")
    said = '"I\\x1b[31m do not know\\n" * 30'
    shop.write(
        "client.py",
        text.replace("json.dumps(reply),\n            usage", f"{said},\n            usage"),
    )

    result = shop.run()

    result.stdout.fnmatch_lines(
        ["unmeasured: no reply of the judge could stand: * (it replied 'I*know*...'), twice *"]
    )
    [line] = [each for each in result.outlines if each.startswith("unmeasured: no reply")]
    assert len(line) < 260


def test_a_long_reason_is_told_in_full_once(shop: Shop) -> None:
    play(shop, rubrics=[rubric("one"), rubric("two"), rubric("three")])
    shop.suite(
        models={"user": JUDGE},
        rubrics=[rubric("one"), rubric("two"), rubric("three")],
    )
    shop.run("--dialeval-record=new")
    play(shop)
    shop.suite(
        models={"user": f"{JUDGE}-other"},
        rubrics=[rubric("one"), rubric("two"), rubric("three")],
    )

    result = shop.run("--dialeval-record=none")

    result.assert_outcomes(errors=3)
    text = result.stdout.str()
    assert text.count("what differs: ") == 1
    assert text.count("(in full at shop.dialeval.yaml::buyer-1::one, above)") >= 2


def test_in_ci_the_short_summary_says_the_reason_alone(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There pytest prints whole messages, which would say every transcript twice."""
    monkeypatch.setenv("CI", "true")
    shop.suite(rubrics=[rubric("tractor", "tractor")])

    lines = shop.run().outlines

    [place] = [each for each, line in enumerate(lines) if line.startswith("FAILED ")]
    assert lines[place].endswith("::tractor - no searched turn says 'tractor'")
    assert lines[place + 1].startswith("====")


def test_junit_names_the_reason_and_holds_the_turns(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("tractor", "tractor")])

    [failure] = told(shop.junit()["tractor"])

    assert failure.get("message") == "no searched turn says 'tractor'"
    assert "turn 2 agent: Hello! The lamp is in stock." in str(failure.text)


TURNED = "you pay \\u202e001\\u202c dollars, \\u2067shalom\\u2069 \\u05e9\\u05dc\\u05d5\\u05dd"
TURNING = {chr(each) for each in (0x202E, 0x202C, 0x2067, 0x2069)}


@pytest.mark.parametrize("severity", ["hard", "soft"])
def test_what_turns_reading_round_reaches_the_trace_alone(shop: Shop, severity: str) -> None:
    turned = TURNED.encode().decode("unicode_escape")
    shop.write("own.py", f"def own(message):\n    return '{TURNED}'\n")
    quoted = {"regex": {"pattern": "you pay [^,]+ dollars"}}
    shop.suite(
        agents={"own": {"use": "python:own.py:own"}},
        rubrics=[
            rubric("turned", keyword=None, severity=severity, **{"not": quoted}),
            rubric("never", "never said", severity=severity),
            rubric("spoke", "dollars"),
        ],
    )

    text = shop.run("-v").stdout.str()

    assert not TURNING & set(text)
    assert f">>{TURNED.partition(',')[0]}<<" in text  # the quote is found where it stands
    assert "\u05e9\u05dc\u05d5\u05dd" in text
    [said] = {each["text"] for each in shop.traces()[0] if each.get("speaker") == "agent"}
    assert said == turned


@pytest.mark.parametrize(
    "fails",
    [
        "dialogue.expect.keyword(any=['tractor'])",
        "assert dialogue.turns[1].text + chr(10) == 'you pay' + chr(10)",
        "raise AssertionError(dialogue.turns[1].text)",
        "raise ValueError(dialogue.turns[1].text) from OSError(dialogue.turns[1].text)",
    ],
)
@pytest.mark.parametrize("style", ["auto", "short", "native", "line"])
def test_a_body_that_fails_turns_no_line_round(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, fails: str, style: str
) -> None:
    monkeypatch.setenv("CI", "true")  # pytest 8 has the text in its short summary alone, else cut
    shop.suite()
    shop.write("clerk.yaml", f'otherwise: ["{TURNED}"]\n')
    shop.write(
        "test_it.py",
        f"""
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml")
        def test_it(dialogue):
            {fails}
        """,
    )

    text = shop.run("test_it.py", f"--tb={style}").stdout.str()

    assert not TURNING & set(text)
    assert r"\u202e" in text
