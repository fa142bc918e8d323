from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.importing import imported, missing_object
from pytest_dialeval.errors import HarnessFault


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_from_the_suites_folder_then_from_rootdir(tmp_path: Path):
    folder = tmp_path / "suites"
    write(tmp_path / "agent.py", "where = 'root'")
    write(tmp_path / "other.py", "where = 'root'")
    write(folder / "agent.py", "where = 'suite'")
    assert imported("agent.py:where", [folder, tmp_path]) == "suite"
    assert imported("other.py:where", [folder, tmp_path]) == "root"
    assert imported("suites/agent.py:where", [folder, tmp_path]) == "suite"


@pytest.mark.parametrize("reference", ["agent.py:where", "agent:where"])
def test_two_suites_with_files_of_one_name_get_their_own(tmp_path: Path, reference: str):
    for name in ("one", "two"):
        write(tmp_path / name / "agent.py", f"where = {name!r}")
    found = [imported(reference, [tmp_path / name, tmp_path]) for name in ("one", "two", "one")]
    assert found == ["one", "two", "one"]


def test_a_file_is_loaded_once(tmp_path: Path):
    write(tmp_path / "agent.py", "thing = object()")
    assert imported("agent.py:thing", [tmp_path]) is imported("agent.py:thing", [tmp_path])
    assert imported("agent:thing", [tmp_path]) is imported("agent.py:thing", [tmp_path])


def test_a_file_may_import_its_neighbours_and_sys_path_stays(tmp_path: Path):
    write(tmp_path / "suites" / "neighbour_of_agent.py", "word = 'hi'")
    write(tmp_path / "suites" / "agent.py", "from neighbour_of_agent import word")
    before = list(sys.path)
    assert imported("agent.py:word", [tmp_path / "suites", tmp_path]) == "hi"
    assert sys.path == before


def test_dataclasses_and_annotations_work_in_a_loaded_file(tmp_path: Path):
    text = """
from __future__ import annotations
import dataclasses, typing
@dataclasses.dataclass
class Answer:
    text: str
hints = typing.get_type_hints(Answer)
"""
    write(tmp_path / "agent.py", text)
    assert imported("agent.py:hints", [tmp_path]) == {"text": str}


def test_a_module_of_a_package_in_rootdir(tmp_path: Path):
    write(tmp_path / "shop_pkg" / "__init__.py", "")
    write(tmp_path / "shop_pkg" / "words.py", "hello = 'hi'")
    write(tmp_path / "shop_pkg" / "agent.py", "from .words import hello")
    assert imported("shop_pkg.agent:hello", [tmp_path / "suites", tmp_path]) == "hi"


def test_an_installed_module_and_a_dotted_object():
    assert imported("json:decoder.JSONDecodeError.__name__", []) == "JSONDecodeError"


def test_two_packages_of_one_name_are_not_mixed_up(tmp_path: Path):
    for name in ("one", "two"):
        write(tmp_path / name / "twin_pkg" / "__init__.py", "")
        write(tmp_path / name / "twin_pkg" / "agent.py", f"where = {name!r}")
    assert imported("twin_pkg.agent:where", [tmp_path / "one"]) == "one"
    with pytest.raises(HarnessFault, match=r"was imported from .*one.*name the file: python:"):
        imported("twin_pkg.agent:where", [tmp_path / "two"])
    assert imported("twin_pkg/agent.py:where", [tmp_path / "two"]) == "two"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("agent.py", "'agent.py' names no object; write python:module:object"),
        ("agent.py:", "names no object"),
        ("agnet.py:reply", r"there is no file 'agnet.py' in .*did you mean 'agent.py'"),
        ("agent.py:rpely", r"'agent.py' has no 'rpely'; did you mean 'reply'"),
        ("agent:rpely", r"'agent' has no 'rpely'; did you mean 'reply'"),
        ("no_such_module_at_all:x", r"cannot be imported \(looked in .*: ModuleNotFoundError: No"),
    ],
)
def test_what_is_wrong_is_one_message(tmp_path: Path, reference: str, message: str):
    write(tmp_path / "agent.py", "def reply(message): return message")
    with pytest.raises(HarnessFault, match=message) as caught:
        imported(reference, [tmp_path])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"SyntaxError: '\(' was never closed"),
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("1 / 0", r"ZeroDivisionError: division by zero .*broken.py:1\)"),
    ],
)
def test_a_module_that_fails_says_its_last_line_and_can_be_mended(
    tmp_path: Path, text: str, message: str
):
    path = write(tmp_path / "broken.py", text)
    before = list(sys.path)
    with pytest.raises(HarnessFault, match=r"'broken\.py' cannot be imported") as caught:
        imported("broken.py:agent", [tmp_path])
    assert re.search(message, str(caught.value))
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert sys.path == before
    write(path, "agent = 'mended'  # longer than it was before")
    assert imported("broken.py:agent", [tmp_path]) == "mended"


def test_ctrl_c_during_an_import_is_no_message(tmp_path: Path):
    write(tmp_path / "agent.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        imported("agent.py:x", [tmp_path])
    assert not [each for each in sys.modules if each.startswith("dialeval_agent_")]


def test_names_with_spaces_and_other_letters(tmp_path: Path):
    write(tmp_path / "客服 agent.py", "where: str = 'here'")
    found: Any = imported("客服 agent.py:where", [tmp_path])
    assert found == "here"


@pytest.mark.parametrize(
    "text",
    [
        *("x = 1", "class x: pass", "async def x(): pass", "import a as x", "from a import x"),
        *("if b:\n    x: int = 1", "from a import *", "globals()['x'] = 1", "(x := 1)", "x ="),
        "def __getattr__(name): return 1",
    ],
)
def test_what_a_file_may_define_is_not_missing(tmp_path: Path, text: str):
    write(tmp_path / "client.py", text)
    assert missing_object("client.py:x.y", [tmp_path]) == ""


def test_what_a_file_lacks_is_told_without_running_it(tmp_path: Path):
    write(tmp_path / "client.py", "raise SystemExit\nclient = 1")
    assert missing_object("client.py:cleint", [tmp_path]) == (
        "'client.py' has no 'cleint'; did you mean 'client'?"
    )
    assert missing_object("clinet.py:x", [tmp_path]).endswith("did you mean 'client.py'?")
    assert missing_object("some.module:x", [tmp_path]) == ""
