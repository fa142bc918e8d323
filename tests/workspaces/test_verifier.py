from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.programs.run_to_end import Stopped
from pytest_dialeval.records.work import Check, Verifier
from tests.conversation.test_program import gone, needs_proc
from tests.workspaces.ground import (
    CHECK,
    FIXED,
    PYTHON,
    folder,
    lay,
    needs_git,
    nothing,
    script,
    site,
    worked,
    writes,
)

pytestmark = needs_git
PASSES = "def test_add():\n    from calc import add\n    assert add(2, 3) == 5\n"


def verified(
    at: Path, *acts: Any, text: str = CHECK, again: bool = False, **keys: Any
) -> list[Check | None]:
    """What a verifier says after each act; it runs this Python."""
    command, clear = keys.pop("command", None) or script(at, text), keys.pop("clear", None)
    verifier = Verifier(command, **{"when": "each", "deadline": 30.0, **keys})
    repo = at / "project" / "repo"
    repo = repo if repo.exists() else folder(at)
    made = site(repo, verifier, **({"clear": clear} if clear else {}))
    return [each.check for each in worked(made, *(acts or (nothing,)), again=again)]


def one(at: Path, *acts: Any, **keys: Any) -> Check:
    check = verified(at, *acts, **keys)[-1]
    assert check is not None
    return check


# ---- by exit status, and when


def test_right_and_wrong(tmp_path: Path):
    wrong, right = verified(tmp_path, nothing, writes("calc.py", FIXED))
    assert wrong is not None and right is not None
    assert (wrong.passed, wrong.reward, wrong.exit_status) == (False, 0.0, 1)
    assert (right.passed, right.reward, right.exit_status) == (True, 1.0, 0)
    assert right.checks == {"round 1": True} and right.why == "" and right.seconds is not None


@pytest.mark.parametrize(
    ("when", "rounds"),
    [("first", [1]), ("last", [3]), ("first_and_last", [1, 3]), ("each", [1, 2, 3])],
)
def test_when_it_is_due(tmp_path: Path, when: str, rounds: list[int]):
    checks = verified(tmp_path, nothing, nothing, nothing, when=when)
    assert [each.round for each in checks if each] == rounds


def test_a_round_that_turns_out_to_be_the_last_is_verified_once(tmp_path: Path):
    count = tmp_path / "count"
    text = f"open({str(count)!r}, 'a').write('x')"
    checks = verified(tmp_path, nothing, text=text, again=True, when="first_and_last")
    assert checks[0] is not None and count.read_text() == "x"


def test_commands_of_later_requests_run_beside_those_of_earlier_ones(tmp_path: Path):
    sub = script(tmp_path, "import calc, sys; sys.exit(calc.sub(3, 2) != 1)", "sub.py")
    both = f"{FIXED}\ndef sub(a, b):\n    return a - b\n"
    acts = (
        writes("calc.py", FIXED),
        nothing,
        writes("calc.py", both),
        writes("calc.py", "sub = int.__sub__\n"),
    )
    first, second, third, fourth = verified(tmp_path, *acts, rounds={2: sub})
    assert first is not None and first.checks == {"round 1": True}
    assert second is not None and second.checks == {"round 1": True, "round 2": False}
    assert (second.passed, second.reward, second.exit_status) == (False, 0.5, 1)
    assert f"$ {sub}\n" in second.output and "has no attribute 'sub'" in second.output
    assert third is not None and third.passed
    assert fourth is not None and fourth.checks == {"round 1": False, "round 2": True}


def test_two_checks_of_one_name_must_both_hold(tmp_path: Path):
    def tells(name: str, checks: dict[str, bool]) -> str:
        text = f"open('r.json', 'w').write({json.dumps({'checks': checks})!r})"
        return script(tmp_path, text, name)

    checks = verified(
        tmp_path,
        nothing,
        nothing,
        command=tells("one.py", {"round 2": False, "round 2: a": True, "b": True}),
        rounds={2: tells("two.py", {"a": True})},
        result="r.json",
    )
    assert checks[1] is not None and not checks[1].passed
    assert checks[1].checks == {"round 2": False, "round 2: a": True, "b": True}


def test_it_never_sees_the_agents_own_folder(tmp_path: Path):
    seen: list[Path] = []
    check = one(tmp_path, seen.append, text="import os; print(os.getcwd())")
    where = Path(check.output.strip())
    assert where.name == "repo" and where != seen[0] and not where.exists()


def test_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_API_KEY", "hunter2hunter2")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PLAIN", "kept")
    monkeypatch.setenv("DATABASE_URL", "db://user:hunter2@host")
    text = "import os, json; print(json.dumps(dict(os.environ)))"

    def clear(said: str) -> str:
        return said.replace("hunter2", "***")

    check = one(tmp_path, nothing, nothing, text=text, result="out.json", when="last", clear=clear)
    given = json.loads(check.output)
    assert given["DIALEVAL_ROUND"] == "2" and given["PLAIN"] == "kept"
    assert given["DIALEVAL_RESULT"].endswith("/repo/out.json")
    assert (
        not {"SHOP_API_KEY", "DATABASE_URL", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PWD"}
        & given.keys()
    )
    assert given["HOME"] != os.environ.get("HOME") and not Path(given["HOME"]).exists()


def test_python_is_ours(tmp_path: Path):
    check = one(tmp_path, command='python -c "import sys; print(sys.executable)"')
    assert Path(check.output.strip()).parent == Path(PYTHON).parent


# ---- what did not count


def test_hidden_files_are_there_for_the_run_alone(tmp_path: Path):
    lay(tmp_path / "hidden", {"tests/test_calc.py": PASSES})
    seen: list[list[str]] = []

    def cheats(at: Path) -> None:
        lay(at, {"tests/test_calc.py": "def test_add(): pass\n"})
        seen.append(sorted(each.name for each in at.rglob("*")))

    command = "python -m pytest -q -p no:cacheprovider tests"
    check = one(tmp_path, cheats, command=command, hidden=str(tmp_path / "hidden"))
    assert check.passed is False and "assert -1 == 5" in check.output
    assert "test_calc.py" in seen[0]


REWRITES = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


@pytest.mark.parametrize("where", ["conftest.py", "tests/conftest.py"])
def test_a_conftest_that_rewrites_results_changes_no_verdict(tmp_path: Path, where: str):
    lay(tmp_path / "hidden", {"tests/test_calc.py": PASSES})
    keys = {"command": "python -m pytest -q tests", "hidden": str(tmp_path / "hidden")}
    check = one(tmp_path, writes(where, REWRITES), **keys)
    assert check.passed is False
    assert check.left_out == (f"as at the start, not as the agent left it: {where}",)
    # It would have helped:
    assert one(tmp_path, writes(where, REWRITES), restore=(), **keys).passed is True


def test_files_that_steer_tests_are_those_of_the_start(tmp_path: Path):
    folder(tmp_path, {"pyproject.toml": "start\n", "setup.cfg": "start\n", "pytest.ini": "start\n"})

    def work(at: Path) -> None:
        lay(at, {"pyproject.toml": "agent\n", "sub/x.pth": "agent\n", "fine.toml": "agent\n"})
        (at / "setup.cfg").unlink()
        (at / "pytest.ini").unlink()
        (at / "pytest.ini").symlink_to("pyproject.toml")

    text = """
    import os
    for each in ("pyproject.toml", "setup.cfg", "pytest.ini", "sub/x.pth", "fine.toml"):
        print(each, open(each).read().strip() if os.path.exists(each) else "-")
    """
    check = one(tmp_path, work, text=text)
    assert check.output.split() == (
        "pyproject.toml start setup.cfg start pytest.ini start sub/x.pth - fine.toml agent".split()
    )


FORGES = """
import os
with open(os.environ["DIALEVAL_RESULT"], "w") as file:
    file.write('<testsuite><testcase name="test_add"/></testsuite>')
os._exit(0)
"""


@pytest.mark.parametrize(
    "files",
    [
        ("json.py",),
        ("unittest/__init__.py",),
        ("pytest.py",),
        ("_pytest/__init__.py",),
        ("pytest_dialeval/__init__.py", "pytest_dialeval/plugin.py"),
        ("tests/difflib.py",),
        ("Evil-1.Dist-Info/entry_points.txt", "Evil-1.Dist-Info/METADATA", "evil.py"),
        ("evil.egg-info/entry_points.txt", "evil.py"),
    ],
)
def test_modules_in_the_place_of_pythons_own_change_no_verdict(
    tmp_path: Path, files: tuple[str, ...]
):
    def work(at: Path) -> None:
        for each in files:
            lay(at, {each: FORGES if each.endswith(".py") else "[pytest11]\nevil = evil\n"})

    lay(tmp_path / "hidden", {"tests/test_calc.py": PASSES})
    command = "python -m pytest -q tests --junitxml=out.xml"
    keys = {"command": command, "hidden": str(tmp_path / "hidden"), "result": "out.xml"}
    check = one(tmp_path, work, **keys)
    assert check.checks == {"tests.test_calc.test_add": False}
    assert files[0] in " ".join(check.left_out)


def test_modules_that_replace_nothing_are_the_agents_work(tmp_path: Path):
    folder(tmp_path, {"queue.py": "start\n"})
    places = ("queue.py", "app/json.py", "html/index.html", "json.txt", "email/text.py")
    fine = dict.fromkeys((*places, "src/app/types.py"), "mine\n")
    text = f"print([each for each in {sorted(fine)} if open(each).read() != 'mine\\n'])"
    check = one(tmp_path, lambda at: lay(at, fine), text=text)
    assert (check.output.strip(), check.left_out) == ("[]", ())


def test_a_link_to_a_module_in_the_place_of_pythons_own(tmp_path: Path):
    def work(at: Path) -> None:
        lay(at, {"evil/__init__.py": FORGES})
        (at / "json").symlink_to("evil")

    check = one(tmp_path, work, text="import json; sys.exit(not hasattr(json, 'loads'))")
    assert check.passed and check.left_out[0].endswith(": json")


def test_a_command_that_puts_a_link_in_its_folders_place_reaches_nothing(tmp_path: Path):
    precious = tmp_path / "precious"
    lay(precious, {"out.txt": "x", "below/file": "x"})
    text = f"""
    import os, pathlib
    here = pathlib.Path.cwd()
    pathlib.Path("out.txt").write_text('{{"passed": true}}')
    here.rename(here.with_name("moved"))
    here.symlink_to({str(precious)!r})
    """
    both = {2: script(tmp_path, "", "second.py")}
    verifier = Verifier(script(tmp_path, text), when="each", result="out.txt", rounds=both)
    done = worked(site(folder(tmp_path), verifier), nothing, nothing)[1]
    assert done.check is not None and done.check.passed is None
    left = sorted(each.relative_to(precious).as_posix() for each in precious.rglob("*"))
    assert left == ["below", "below/file", "out.txt"]


def test_links_out_are_cut_and_nothing_is_laid_through_them(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    lay(tmp_path / "hidden", {"tests/test_x.py": "hidden\n"})

    def work(at: Path) -> None:
        (at / "tests").symlink_to(outside)
        (at / "in").symlink_to("calc.py")

    text = "import os; print(open('tests/test_x.py').read(), os.path.islink('in'))"
    check = one(tmp_path, work, text=text, hidden=str(tmp_path / "hidden"))
    assert check.output.split() == ["hidden", "True"]
    assert check.left_out == ("links out of the folder: tests",)
    assert list(outside.iterdir()) == []


def test_a_file_that_the_start_ignores_can_become_part_of_the_work(tmp_path: Path):
    folder(tmp_path, {".gitignore": "data\n", "data": "start\n"})

    def work(at: Path) -> None:
        lay(at, {".gitignore": "", "data": "agent\n"})

    assert one(tmp_path, work, text="print(open('data').read())").output.strip() == "agent"


def test_the_agent_deletes_its_folder(tmp_path: Path):
    check = one(tmp_path, shutil.rmtree, text="import os, sys; sys.exit(os.listdir() != [])")
    assert check.passed is True


def test_binary_work_arrives(tmp_path: Path):
    data = bytes(range(256)) * 100
    text = "import hashlib; print(hashlib.sha256(open('x', 'rb').read()).hexdigest())"
    check = one(tmp_path, writes("x", data), text=text)
    assert check.output.strip() == hashlib.sha256(data).hexdigest()


# ---- the result file


def told(at: Path, result: str | None, status: int = 0) -> Check:
    body = "" if result is None else f"open(os.environ['DIALEVAL_RESULT'], 'w').write({result!r})"
    text = f"import os, sys\n{body}\nsys.exit({status})"
    return one(at, writes("out.txt", '{"passed": true}'), text=text, result="out.txt")


@pytest.mark.parametrize(
    ("result", "status", "passed", "reward", "checks"),
    [
        ('{"passed": true}', 0, True, 1.0, {"round 1": True}),
        ('{"passed": false, "reward": 0.25}', 1, False, 0.25, {"round 1": False}),
        ('{"passed": true, "reward": 0.5}', 0, True, 0.5, {"round 1": True}),
        ('{"checks": {"a": true, "b": false}}', 0, False, 0.0, {"a": True, "b": False}),
        ('{"reward": 1}', 0, True, 1.0, {"round 1": True}),
        ('{"correct": 1, "fast": 0.5}', 0, False, 0.75, {"correct": True, "fast": False}),
        ('{"reward": 0.5, "correct": 1}', 0, False, 0.5, {"correct": True}),
    ],
)
def test_json(
    tmp_path: Path, result: str, status: int, passed: bool, reward: float, checks: dict[str, bool]
):
    check = told(tmp_path, result, status)
    assert (check.passed, check.reward, check.checks, check.why) == (passed, reward, checks, "")


@pytest.mark.parametrize(
    ("result", "status", "why"),
    [
        (None, 0, "it wrote no result file out.txt (exit status 0)"),
        ("", 0, "it is neither JSON nor JUnit's XML"),
        ("[1]", 0, "it is no object"),
        ("{}", 0, "it is no object"),
        ('{"checks": {}}', 0, "no test ran"),
        ('{"reward": NaN}', 0, "NaN is no number"),
        ('{"reward": 1.5}', 0, "the reward 1.5 is not from 0 to 1"),
        ('{"reward": true}', 0, "the reward True is no number from 0 to 1"),
        ('{"correct": null}', 0, "a reward is null"),
        ('{"reward": 1%s}' % ("0" * 400), 0, "0000 is not from 0 to 1"),
        ('{"passed": false, "passed": true}', 0, "the key 'passed' stands twice"),
        ('{"checks": {"a": false, "a": true}}', 0, "the key 'a' stands twice"),
        ('{"passed": "yes"}', 0, "passed must be true or false"),
        ('{"passed": true, "note": ""}', 0, "the key 'note' is not known"),
        ('{"passed": false, "reward": 1}', 0, "its reward is 1, though not all passed"),
        ('{"passed": true}', 3, "says all is well, its exit status is 3"),
        ("[" * 100_000, 0, "it is neither JSON nor JUnit's XML"),
        ("<testsuite/>", 0, "no test ran"),
        ("<html/>", 0, "it has no <testsuite>"),
        ("<testsuite>", 0, "it is no XML"),
        ('<!DOCTYPE x [<!ENTITY a "aa">]><testsuite name="&a;"/>', 0, "declares a document type"),
        ('<?xml version="1.0" encoding="hex"?><testsuite/>', 0, "it is no XML"),
        ('<?xml version="1.0" encoding="big5"?><testsuite/>', 0, "it is no XML"),
        ('<testsuite failures="1"><testcase name="a"/></testsuite>', 0, "it counts failures"),
        ('<testsuite><error/><testcase name="a"/></testsuite>', 0, "it counts failures"),
        (
            '<testsuite><testcase name="a"><failure/><testcase name="b"/></testcase></testsuite>',
            *(0, "it has a test inside a test"),
        ),
        ('<testsuite><testcase name="a"><skipped/></testcase></testsuite>', 0, "no test ran"),
    ],
)
def test_a_result_that_cannot_be_believed(
    tmp_path: Path, result: str | None, status: int, why: str
):
    check = told(tmp_path, result, status)
    assert (check.passed, check.reward, check.checks) == (None, None, {})
    assert check.why.startswith("the verifier can't tell: ") and why in check.why
    assert len(check.why) < 300


def test_names_that_look_the_same_hide_no_failure(tmp_path: Path):
    check = told(tmp_path, r'{"checks": {"a\u0000": false, "a\u0001": true}}')
    assert (check.passed, check.checks) == (False, {"a": False})


def test_junit_as_pytest_writes_it(tmp_path: Path):
    tests = (
        PASSES
        + "def test_fails():\n    assert 0\ndef test_not():\n    __import__('pytest').skip()\n"
    )
    folder(tmp_path, {"calc.py": FIXED, "test_calc.py": tests})
    command = "python -m pytest -q --junitxml=out.xml"
    check = one(tmp_path, command=command, result="out.xml")
    assert check.checks == {"test_calc.test_add": True, "test_calc.test_fails": False}
    assert (check.passed, check.reward, check.exit_status) == (False, 0.0, 1)


# ---- verifiers that do wrong


def test_one_that_hangs(tmp_path: Path):
    check = one(tmp_path, text="import time; time.sleep(600)", deadline=0.3)
    assert check.passed is None
    assert check.why == (
        "the verifier can't tell: it had not ended after 0.3 s (task.verifier.deadline)"
    )


def test_one_that_prints_100_megabytes(tmp_path: Path):
    check = one(tmp_path, text="import os\nfor _ in range(1600): os.write(1, b'x' * 65536)")
    assert check.passed is True and len(check.output) < 20_000


@needs_proc
def test_one_that_forks_a_daemon(tmp_path: Path):
    pid = tmp_path / "pid"
    text = f"""
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        open({str(pid)!r} + ".new", "w").write(str(os.getpid()))
        os.rename({str(pid)!r} + ".new", {str(pid)!r})
        time.sleep(600)
    while not os.path.exists({str(pid)!r}): time.sleep(0.01)
    """
    began = time.monotonic()
    check = one(tmp_path, text=text)
    assert check.passed is True and time.monotonic() - began < 20
    assert "1 of its processes had left it" in check.output
    assert gone(int(pid.read_text()))


def test_one_that_writes_into_the_agents_folder(tmp_path: Path):
    where = tmp_path / "where"

    def work(at: Path) -> None:
        where.write_text(str(at))

    text = f"open(open({str(where)!r}).read() + '/x', 'w').write('x')"
    check = one(tmp_path, work, text=text)
    assert (check.passed, check.reward) == (None, None)
    assert check.why == "something wrote into the agent's folder while the verifier ran"


def test_one_that_writes_into_the_suites_folder(tmp_path: Path):
    repo = folder(tmp_path)
    text = f"open({str(repo / 'calc.py')!r}, 'w').write('x')"
    first, second = verified(tmp_path, nothing, nothing, text=text)
    assert first is not None and second is not None
    assert first.why == "something wrote into task.workspace while the verifier ran"
    assert "task.workspace was changed after this conversation began" in second.why
    assert second.why.endswith("agents have a copy (brief.workspace)")


def test_an_editor_that_looks_at_the_repository_changes_nothing(tmp_path: Path):
    repo = folder(tmp_path, {"calc.py": FIXED, ".git/index": "1"})
    assert one(tmp_path, lambda _: lay(repo, {".git/index": "2"})).passed is True


def test_one_that_fails_before_it_can_tell_is_quoted(tmp_path: Path):
    check = one(tmp_path, text="print('x')\nimport nothing_of_that_name", result="out.json")
    assert check.why == (
        "the verifier can't tell: it wrote no result file out.json (exit status 1); the last line "
        "that it printed: \"ModuleNotFoundError: No module named 'nothing_of_that_name'\""
    )


def test_one_that_cannot_be_started(tmp_path: Path):
    check = one(tmp_path, command="no-such-program --x")
    assert check.passed is None
    assert check.why.startswith("the verifier 'no-such-program --x' can't be run: ")
    assert one(tmp_path, command="sh -c no-such-program").why.startswith(
        "the verifier can't tell: it can't be run (exit status 127); the last line that it printed"
    )


@needs_proc
def test_a_cancelled_check_leaves_nothing_behind(tmp_path: Path):
    pid = tmp_path / "pid"
    text = f"""
    import os, time
    open({str(pid)!r} + ".new", "w").write(str(os.getpid()))
    os.rename({str(pid)!r} + ".new", {str(pid)!r})
    time.sleep(600)
    """
    made = site(folder(tmp_path), Verifier(script(tmp_path, text), when="each", deadline=600.0))

    async def work() -> Path:
        await made.open()
        task = asyncio.create_task(made.after(1, last=False))
        while not pid.exists():  # noqa: ASYNC110 (another process makes it)
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gone(int(pid.read_text()))
        where = made.folder
        await made.close()
        return where

    try:
        assert not asyncio.run(work()).exists()
    except Stopped:
        pytest.fail("it came out of its thread")
