from __future__ import annotations

from hashlib import sha256

import pytest

SUITE = """\
dialeval: 1
task: {id: t, variables: {name: Ann}}
personas: [{id: own, script: {states: {start: {say: hi, end: true}}}}]
rubrics: [{id: r.own, dimension: safety, not: {keyword: bad}}]
include: [parts/a.yaml]
"""
PERSONA = "personas: [{id: %s, script: {states: {start: {say: 'I am {name}', end: true}}}}]\n"
RUBRIC = "rubrics: [{id: %s, dimension: completion, keyword: hello}]\n"


def test_parts_come_in_the_order_of_reading(load, write, tmp_path):
    write("parts/a.yaml", PERSONA % "a" + RUBRIC % "r.a" + "include: [deep/b.yaml, ../c.yaml]\n")
    write("parts/deep/b.yaml", PERSONA % "b")
    write("c.yaml", RUBRIC % "r.c")
    suite = load(SUITE)
    assert [each.id for each in suite.personas] == ["own", "a", "b"]
    assert [each.id for each in suite.rubrics] == ["r.own", "r.a", "r.c"]
    assert suite.personas[2].script.states["start"].say == ("I am Ann",)
    assert (suite.personas[1].file, suite.personas[1].line) == ("parts/a.yaml", 1)
    assert (suite.rubrics[1].file, suite.rubrics[1].line) == ("parts/a.yaml", 2)
    assert suite.files == {
        name: sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("s.dialeval.yaml", "parts/a.yaml", "parts/deep/b.yaml", "c.yaml")
    }


def test_a_file_reached_on_two_ways_is_read_once(load, write):
    write("parts/a.yaml", "include: [b.yaml, c.yaml]\n")
    write("parts/b.yaml", "include: [common.yaml]\n")
    write("parts/c.yaml", "include: [common.yaml, ../parts/b.yaml]\n")
    write("parts/common.yaml", PERSONA % "common")
    assert [each.id for each in load(SUITE).personas] == ["own", "common"]


def test_a_circle_is_shown(problems, write):
    write("parts/a.yaml", "# one\ninclude:\n  - b.yaml\n")
    write("parts/b.yaml", "include: [a.yaml]\n")
    assert problems(SUITE) == [
        "parts/b.yaml:1: 'a.yaml' is included in a circle: "
        "parts/a.yaml -> parts/b.yaml -> parts/a.yaml"
    ]


def test_a_file_that_includes_itself_or_the_suite(problems, write):
    write("parts/a.yaml", "include: [a.yaml, ../s.dialeval.yaml]\n")
    assert problems(SUITE) == [
        "parts/a.yaml:1: '../s.dialeval.yaml' is included in a circle: "
        "s.dialeval.yaml -> parts/a.yaml -> s.dialeval.yaml",
        "parts/a.yaml:1: 'a.yaml' is included in a circle: parts/a.yaml -> parts/a.yaml",
    ]


def test_a_circle_through_a_symbolic_link(problems, write, tmp_path):
    write("parts/a.yaml", "include: [link.yaml]\n")
    (tmp_path / "parts/link.yaml").symlink_to("a.yaml")
    assert problems(SUITE) == [
        "parts/a.yaml:1: 'link.yaml' is included in a circle: parts/a.yaml -> parts/a.yaml"
    ]


def test_paths_must_not_leave_the_root_folder(problems, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}_outside.yaml"
    outside.write_text(PERSONA % "x", encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to(outside)
    (tmp_path / "door").symlink_to(tmp_path.parent)
    names = [f"../{outside.name}", "link.yaml", f"door/{outside.name}"]
    found = problems(SUITE.replace("[parts/a.yaml]", str(names)))
    assert found == sorted(
        f"s.dialeval.yaml:5: {name!r} leaves the root folder of this run: move the file inside it"
        for name in names
    )


def test_absolute_paths_are_refused(problems, tmp_path):
    path = tmp_path / "a.yaml"
    found = problems(SUITE.replace("parts/a.yaml", str(path)))
    assert len(found) == 1
    assert "must be a path from this file's folder, not an absolute one" in found[0]


def test_a_link_that_leads_to_itself(problems, tmp_path):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (found,) = problems(SUITE.replace("parts/a.yaml", "loop.yaml"))
    assert found.startswith("s.dialeval.yaml:5: 'loop.yaml' ")


@pytest.mark.parametrize("name", ["nope.yaml", "parts", "x" * 5000, "a/../nope.yaml"])
def test_files_that_are_not_there(problems, write, tmp_path, name):
    (tmp_path / "parts").mkdir()
    (found,) = problems(SUITE.replace("parts/a.yaml", name))
    assert found.startswith(f"s.dialeval.yaml:5: '{name[:60]}")
    assert "paths are taken from" in found


def test_errors_of_included_files_name_those_files(problems, write):
    write(
        "parts/a.yaml",
        """\
        personas:
          - id: own
            script: {states: {start: {say: "{nam}", next: [{to: strt}]}}}
        rubrics:
          - {id: x, dimension: completion, keyword: {an: x}}
        personae: []
        """,
    )
    found = problems(SUITE)
    assert [each.split(": ", 1)[0] for each in found] == [
        "parts/a.yaml:2",
        "parts/a.yaml:3",
        "parts/a.yaml:3",
        "parts/a.yaml:5",
        "parts/a.yaml:6",
    ]
    assert "id 'own' is taken by line 3 of s.dialeval.yaml: rename one" in found[0]
    assert "unknown key 'personae' of an included file; did you mean 'personas'?" in found[4]


def test_broken_yaml_in_an_included_file_stands_beside_other_errors(problems, write):
    write("parts/a.yaml", "personas: [\n")
    found = problems(SUITE.replace("keyword: bad", "keyword: {an: x}"))
    assert [each.split(": ", 1)[0] for each in found] == ["s.dialeval.yaml:4", "parts/a.yaml:2"]


def test_a_suite_may_hold_nothing_but_its_task(load, write):
    write("parts/a.yaml", PERSONA % "a" + RUBRIC % "r.a")
    suite = load("dialeval: 1\ntask: {id: t, variables: {name: x}}\ninclude: [parts/a.yaml]\n")
    assert [each.id for each in (*suite.personas, *suite.rubrics)] == ["a", "r.a"]


def test_endless_chains_are_refused(problems, write):
    for number in range(60):
        write(f"parts/{number}.yaml", f"include: [{number + 1}.yaml]\n")
    write("parts/a.yaml", "include: [0.yaml]\n")
    (found,) = problems(SUITE)
    assert found.endswith("files are included more than 50 deep")
