from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.work import RoundWork, Verifier
from pytest_dialeval.suites.folder import Entry, Survey, survey
from pytest_dialeval.workspaces import changes
from pytest_dialeval.workspaces.copying import new_folder, remove
from tests.workspaces.ground import (
    CODE,
    FIXED,
    folder,
    lay,
    needs_git,
    nothing,
    site,
    worked,
    writes,
)

pytestmark = needs_git
PATCH = """\
diff --git a/calc.py b/calc.py
index {old}..{new} 100644
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""


def blob(text: str) -> str:
    return hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest()


def stored(at: Path, number: int = 1) -> bytes:
    return (at / "runs" / "t-1.work" / f"round-{number}.patch").read_bytes()


def test_the_patch_of_a_round_is_cumulative_and_stored(tmp_path: Path):
    made = site(folder(tmp_path))
    first, idle, last = worked(made, writes("calc.py", FIXED), nothing, writes("b", "new\n"))
    old = blob("def add(a, b):\n    return a - b\n")
    assert first.patch == PATCH.format(old=old, new=blob(FIXED))
    assert stored(tmp_path).decode() == first.patch
    assert first.work == RoundWork(
        1,
        True,
        files=("calc.py",),
        patch="traces/t-1.work/round-1.patch",
        sha256=hashlib.sha256(first.patch.encode()).hexdigest(),
    )
    assert (idle.work.changed, idle.work.files, idle.patch) == (False, ("calc.py",), first.patch)
    assert (last.work.changed, last.work.files) == (True, ("b", "calc.py"))
    assert first.check is None


def test_nothing_differs(tmp_path: Path):
    made = site(folder(tmp_path))
    back = worked(made, writes("calc.py", FIXED), writes("calc.py", CODE["calc.py"]))[1]
    assert back.work == RoundWork(2, True)
    assert back.patch == ""


def test_the_copy_is_the_agents_own_and_goes_away(tmp_path: Path):
    repo = folder(tmp_path)
    seen: list[Path] = []
    made = site(repo)
    worked(made, seen.append, writes("calc.py", FIXED))
    assert seen[0].name == "repo" and not seen[0].is_relative_to(repo.parent)
    assert "a - b" in (repo / "calc.py").read_text()
    assert not seen[0].parent.exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside threads
def test_a_child_that_a_test_forks_does_not_remove_it(tmp_path: Path):
    def fork(work: Path) -> None:
        child = os.fork()
        if child == 0:
            try:
                made._removed()  # as at the exit of a process
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert (work / "calc.py").is_file()
        lay(work, {"calc.py": FIXED})

    made = site(folder(tmp_path))
    [done] = worked(made, fork)
    assert done.work.files == ("calc.py",)


def test_two_copies_at_once_do_not_meet(tmp_path: Path):
    repo = folder(tmp_path)

    async def both() -> None:
        sites = [site(repo), site(repo)]
        await asyncio.gather(*(each.open() for each in sites))
        lay(sites[0].folder, {"calc.py": FIXED})
        done = await asyncio.gather(*(each.after(1, last=True) for each in sites))
        assert [each.work.changed for each in done] == [True, False]
        await asyncio.gather(*(each.close() for each in sites))

    asyncio.run(both())


def test_hooks_and_settings_of_anybody_are_never_run_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    repo, trap = folder(tmp_path), tmp_path / "trap"
    touch = f"#!/bin/sh\ntouch {trap}\ncat\n"
    program = tmp_path / "touch.sh"
    program.write_text(touch)
    program.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(touch)
        hook.chmod(0o755)
    config = f"""
[core]
    fsmonitor = {program}
    hooksPath = {repo}/.git/hooks
    excludesFile = {tmp_path}/all
[filter "trap"]
    clean = {program}
    required = true
[diff "trap"]
    textconv = {program}
    command = {program}
[diff]
    external = {program}
    noprefix = true
"""
    (tmp_path / "all").write_text("*\n")
    with (repo / ".git" / "config").open("a") as file:
        file.write(config)
    (tmp_path / ".gitconfig").write_text(config)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    lay(repo, {".gitattributes": "* filter=trap diff=trap\n"})
    done = worked(site(repo), writes("calc.py", FIXED), writes("new.py", "x\n"))[-1]
    assert done.work.files == ("calc.py", "new.py")
    assert "--- a/calc.py" in done.patch
    assert not trap.exists() and not (tmp_path / "index").exists()


def test_bytes_stay_as_they_are(tmp_path: Path):
    repo = folder(
        tmp_path, {".gitattributes": "* text=auto eol=crlf\n", "a.txt": b"one\r\ntwo\r\n"}
    )
    done = worked(site(repo), writes("a.txt", b"one\r\n2\r\n"))[0]
    assert done.work.files == ("a.txt",)
    assert b"-two\r\n+2\r\n" in stored(tmp_path)


def test_what_is_ignored_or_left_behind_by_running_is_no_work(tmp_path: Path):
    repo = folder(tmp_path, {".gitignore": "*.log\nbuild/\n", "a.py": "x\n"})

    def leaves(at: Path) -> None:
        lay(at, {"x.log": "", "build/o": "", "__pycache__/a.pyc": "", ".pytest_cache/v": ""})

    assert worked(site(repo), leaves)[0].work == RoundWork(1, False)


def test_binary_files(tmp_path: Path):
    repo = folder(tmp_path, {"data": bytes(range(256))})
    done = worked(site(repo), writes("data", bytes(reversed(range(256)))))[0]
    assert b"GIT binary patch" in stored(tmp_path)
    assert "Binary files a/data and b/data differ" in done.patch


def test_odd_names_modes_links_and_folders_that_become_files(tmp_path: Path):
    repo = folder(tmp_path, {"a/b": "1\n", "run.sh": "x\n", "c": "2\n"})

    def work(at: Path) -> None:
        shutil.rmtree(at / "a")
        lay(at, {"a": "file\n", "new\nline \udcff": "y\n"})
        (at / "run.sh").chmod(0o755)
        (at / "c").unlink()
        lay(at, {"c/d": "3\n"})
        (at / "link").symlink_to("run.sh")

    done = worked(site(repo), work)[0]
    assert {"a", "a/b", "c", "c/d", "run.sh", "link"} <= set(done.work.files)
    assert "new mode 100755" in done.patch


def test_a_folder_becomes_a_link(tmp_path: Path):
    repo = folder(tmp_path, {"a/b": "1\n", "other/b": "2\n"})

    def work(at: Path) -> None:
        shutil.rmtree(at / "a")
        (at / "a").symlink_to("other")

    assert worked(site(repo), work)[0].work.files == ("a", "a/b")


@pytest.mark.parametrize("commits", [False, True])
def test_repositories_inside_are_mere_files(tmp_path: Path, commits: bool):
    def work(at: Path) -> None:
        inner = at / "inner"
        subprocess.run(["git", "init", "-q", str(inner)], check=True)
        lay(inner, {"x.py": "x\n"})
        if commits:
            who = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", "-C", str(inner), "add", "."], check=True)
            subprocess.run(["git", "-C", str(inner), *who, "commit", "-qm", "x"], check=True)

    first, second = worked(site(folder(tmp_path)), work, writes("inner/y.py", "y\n"))
    assert first.work.files == ("inner/x.py",)
    assert first.work.note == "1 git repository inside, taken as mere files: inner"
    assert second.work.files == ("inner/x.py", "inner/y.py")


def test_the_agent_deletes_its_folder_and_makes_it_again(tmp_path: Path):
    def restores(at: Path) -> None:
        at.mkdir()
        lay(at, {"calc.py": FIXED})

    gone, back = worked(site(folder(tmp_path)), shutil.rmtree, restores)
    assert gone.work.files == ("README", "calc.py")
    assert gone.work.note == "the agent deleted its folder"
    assert "deleted file mode" in gone.patch
    assert back.work.note == "" and "a + b" in back.patch


@pytest.mark.parametrize("above", [False, True])
def test_a_link_in_the_folders_place_is_no_folder_and_nothing_behind_it_is_touched(
    tmp_path: Path, above: bool
):
    precious, seen = tmp_path / "precious", []
    lay(precious, {"file": "x", "below/file": "x", "repo/calc.py": FIXED})
    for each in (precious, precious / "repo"):
        each.chmod(0o755)

    def swaps(at: Path) -> None:
        place = at.parent if above else at
        seen.append(at.parent)
        shutil.rmtree(place)
        place.symlink_to(precious)

    done = worked(site(folder(tmp_path)), swaps)[0]
    assert (done.work.note, done.work.files) == (
        "the agent deleted its folder",
        ("README", "calc.py"),
    )
    assert not os.path.lexists(seen[0])
    left = [each.relative_to(precious).as_posix() for each in precious.rglob("*")]
    assert sorted(left) == ["below", "below/file", "file", "repo", "repo/calc.py"]
    assert {stat.S_IMODE(each.stat().st_mode) for each in (precious, precious / "repo")} == {0o755}


def test_what_a_patch_cannot_hold_is_noted(tmp_path: Path):
    def work(at: Path) -> None:
        os.mkfifo(at / "pipe")
        with (at / "huge").open("wb") as file:
            file.truncate(11_000_000)
        lay(at, {"calc.py": FIXED})

    done = worked(site(folder(tmp_path)), work)[0]
    assert done.work.files == ("calc.py",)
    assert done.work.note == (
        "left out, as the folder became too large: huge; "
        "left out, as it is no file that can be read: pipe"
    )


def test_what_is_ignored_takes_no_room_from_the_work(tmp_path: Path):
    def work(at: Path) -> None:
        lay(at, {"installed/big": b"x" * 4_000, "calc.py": f"{FIXED}# {'x' * 6_000}\n"})

    repo = folder(tmp_path, {**CODE, ".gitignore": "installed/\n"})
    done = worked(site(repo, max_mb=0.008), work)[0]
    assert (done.work.files, done.work.note) == (("calc.py",), "")


def test_names_that_git_refuses_void_no_trial(tmp_path: Path):
    def work(at: Path) -> None:
        lay(at, {".GIT/x": "", "sub/.Git/y": "", "calc.py": FIXED})
        (at / ".gitmodules").symlink_to("calc.py")

    done = worked(site(folder(tmp_path)), work)[0]
    assert (done.work.files, done.work.note) == (("calc.py",), "")


def test_what_goes_away_while_it_is_looked_at_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def found(at: Path, goes_on: object) -> Survey:
        seen = survey(at)
        gone = Entry("gone", seen.entries[0].status, "calc.py")
        return replace(seen, entries=(*seen.entries, gone))

    made = site(folder(tmp_path))

    def work(at: Path) -> None:
        monkeypatch.setattr(changes, "survey", found)
        lay(at, {"calc.py": FIXED, "new": "x\n"})

    done = worked(made, work)[0]
    assert done.work.files == ("calc.py", "new")
    assert done.work.note == "left out, as it is no file that can be read: gone"


def test_a_deep_tree_voids_no_trial(tmp_path: Path):
    seen: list[Path] = []

    def work(at: Path) -> None:
        seen.append(at)
        for depth in range(1, 1101):
            (at / "/".join("d" * depth)).mkdir()
        (at / "/".join("d" * 1100) / "x").write_text("x")

    done = worked(site(folder(tmp_path), Verifier("true", when="each")), work)[0]
    assert len(done.work.files) == 1 and done.check is not None and done.check.passed
    assert not seen[0].exists()


def test_folders_that_nobody_may_read_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Root may read everything, so what others would meet is made up."""
    repo, scandir = folder(tmp_path, {"a/b": "1\n", "c": "2\n"}), os.scandir

    def work(at: Path) -> None:
        lay(at, {"c": "3\n", "a/b": "4\n"})

        def refuses(path: object) -> object:
            if str(path) == str(at / "a"):
                monkeypatch.undo()  # it is removed in the end
                raise PermissionError(13, "Permission denied")
            return scandir(path)  # type: ignore[call-overload]

        monkeypatch.setattr(os, "scandir", refuses)

    done = worked(site(repo), work)[0]
    assert done.work.files == ("c",)
    assert done.work.note == "left out, as it is no file that can be read: a"


def test_a_long_patch_is_shown_shortened(tmp_path: Path):
    done = worked(site(folder(tmp_path)), writes("long", "line\n" * 100_000))[0]
    assert len(done.patch) < 13_000 and "bytes left out" in done.patch
    assert len(stored(tmp_path)) > 500_000


def test_secrets_stand_in_no_stored_patch(tmp_path: Path):
    made = site(folder(tmp_path), clear=lambda text: text.replace("hunter2", "[redacted]"))
    done = worked(made, writes("key", "hunter2\n"))[0]
    assert b"hunter2" not in stored(tmp_path)
    assert done.work.note == "secrets in the stored patch were replaced"
    assert done.work.sha256 == hashlib.sha256(stored(tmp_path)).hexdigest()


# ---- what may not be copied


def refused(repo: Path, **keys: object) -> str:
    with pytest.raises(HarnessFault) as raised:
        worked(site(repo, **keys))
    return str(raised.value)


def test_a_huge_folder_is_refused_before_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    repo = folder(tmp_path)
    with (repo / "sparse").open("wb") as file:
        file.truncate(1_000_000_000)
    monkeypatch.setattr(shutil, "copy2", lambda *_, **__: pytest.fail("it was copied"))
    assert refused(repo, max_mb=200.0) == (
        f"the folder {repo} has 1,000.0 MB, more than max_mb: 200; every trial would copy it: "
        "take out what is not needed, or raise max_mb"
    )


def test_links_that_lead_out_are_refused(tmp_path: Path):
    repo = folder(tmp_path)
    (repo / "sub").mkdir()
    (repo / "fine").symlink_to("sub/../calc.py")
    (repo / "sub" / "up").symlink_to("../calc.py")
    (repo / "dangling").symlink_to("nothing")
    worked(site(repo))
    (repo / "out").symlink_to("../other")
    (repo / "absolute").symlink_to(repo / "calc.py")
    (repo / "here").symlink_to("sub")
    (repo / "sub" / "chain").symlink_to("../here/../../x")
    text = refused(repo)
    assert "has symbolic links that lead out of it: absolute -> " in text
    assert "out -> ../other" in text and "sub/chain -> " in text
    assert "fine" not in text and "dangling" not in text


def test_pipes_are_refused(tmp_path: Path):
    repo = folder(tmp_path)
    os.mkfifo(repo / "pipe")
    assert "holds what is no file: pipe (a pipe); remove it" in refused(repo)


def test_no_copy_reaches_another_repository(tmp_path: Path):
    repo = folder(tmp_path)
    lay(repo, {".git": f"gitdir: {tmp_path}/elsewhere\n", "sub/.git": "gitdir: ../../x\n"})
    seen: list[list[str]] = []
    worked(site(repo), lambda at: seen.append(sorted(each.name for each in at.rglob("*"))))
    assert ".git" not in seen[0]
    (repo / ".git").unlink()
    lay(repo, {".git/config": f"[core]\n\tworktree = {repo}\n"})
    assert "works on another folder (.git/config: worktree)" in refused(repo)


def test_a_folder_that_is_gone(tmp_path: Path):
    repo = folder(tmp_path)
    shutil.rmtree(repo)
    assert refused(repo) == f"the folder {repo} can't be read: No such file or directory"


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repo = folder(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(repo) == (
        "task.workspace needs the program git, to tell what an agent changed, and there is none "
        "on PATH: install git"
    )


def test_a_full_disk_is_our_fault(tmp_path: Path):
    (tmp_path / "runs").write_text("a file in the way")
    repo = folder(tmp_path)
    with pytest.raises(HarnessFault, match=r"round-1\.patch can't be written: Not a directory"):
        worked(site(repo), writes("calc.py", FIXED))


def test_copies_never_lie_inside_rootdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = new_folder(tmp_path)
    assert not place.is_relative_to(tmp_path)
    remove(place)
    with pytest.raises(HarnessFault, match="set TMPDIR to a folder outside"):
        new_folder(Path("/"))


@pytest.mark.parametrize("mode", [0o500, 0])
def test_what_is_read_only_is_removed_too(tmp_path: Path, mode: int):
    lay(tmp_path, {"a/b/c": "x", "a/b/d/e": "x"})
    for each in ("a/b/d", "a/b", "a"):
        (tmp_path / each).chmod(mode)
    remove(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_what_is_removed_ends_at_links(tmp_path: Path):
    lay(tmp_path, {"kept/file": "x", "a/b/c": "x"})
    (tmp_path / "a" / "b" / "out").symlink_to(tmp_path / "kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    for each in ("a", "link", "nothing"):
        remove(tmp_path / each)
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").read_text() == "x"


def test_a_path_that_is_too_long_is_removed_too(tmp_path: Path):
    (tmp_path / "a").mkdir()
    above = os.open(tmp_path / "a", os.O_RDONLY)
    for _ in range(2_500):
        os.mkdir("d", dir_fd=above)
        below = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    remove(tmp_path / "a")
    assert not (tmp_path / "a").exists()
