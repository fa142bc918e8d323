"""People's labels as they come: JSONL, CSV from three spreadsheets, and with mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.grading.labels import About, Label, part_of, read_labels

JSONL = """\
{"run": "r1", "trial": "t-1", "rubric": "tone", "label": "met", "labeller": "ann", "part": "tuning"}

{"run": "r1", "trial": "t-2", "rubric": "tone", "label": false, "labeller": "bo", "note": "rude"}
{"run": "r1", "trial": "t-3", "rubric": "tone", "label": "", "labeller": "bo"}
{"run": "r1", "trial": 4, "rubric": "tone", "label": "cannot_tell", "labeller": "bo"}
"""
EXPECTED = (
    Label(About("r1", "t-1", "tone"), True, "ann", "tuning"),
    Label(About("r1", "t-2", "tone"), False, "bo", part_of("r1", "t-2")),
    Label(About("r1", "4", "tone"), None, "bo", part_of("r1", "4")),
)
ROWS = [
    ["run", "trial", "note", "rubric", "label", "labeller", "part"],
    ["r1", "t-1", "", "tone", "Met", "ann", "tuning"],
    ["r1", "t-2", "rude", "tone", "FALSE", "bo", ""],
    ["r1", "t-3", "", "tone", "", "bo", ""],
    ["r1", "4", "", " tone ", "cannot tell", "bo", ""],
]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_jsonl(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path, "labels.jsonl", JSONL)) == EXPECTED


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_of_any_spreadsheet(tmp_path: Path, delimiter: str, end: str, mark: str) -> None:
    text = mark + end.join(delimiter.join(each) for each in ROWS) + end
    assert read_labels(write(tmp_path, "labels.CSV", text)) == EXPECTED


def test_cells_may_hold_line_breaks_and_quotes(tmp_path: Path) -> None:
    text = 'run,trial,rubric,label,labeller,note\nr,t,tone,not_met,ann,"two\nlines, ""so"""\n'
    (found,) = read_labels(write(tmp_path, "a.csv", text))
    assert (found.met, found.labeller) == (False, "ann")


def test_the_later_label_of_a_person_counts(tmp_path: Path) -> None:
    row = '{"run": "r", "trial": "t", "rubric": "x", "label": "%s", "labeller": "%s"}\n'
    text = row % ("met", "ann") + row % ("met", "bo") + row % ("not_met", "ann")
    found = read_labels(write(tmp_path, "a.jsonl", text))
    assert {each.labeller: each.met for each in found} == {"ann": False, "bo": True}


def test_every_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    row = '{"run": "r", "trial": "t", "rubric": "x", "label": "met", "labeller": "a"}'
    lines = [
        row,
        row.replace('"met"', '"satisfied"'),
        row.replace('"met"', '"mett"'),
        row.replace('"rubric"', '"rubrik"'),
        row.replace('"a"', '" "'),
        row.replace("}", ', "part": "testing"}'),
        row.replace('"met"', "0.5"),
        row.replace('"label": "met", ', ""),
    ]
    path = write(tmp_path, "a.jsonl", "\n".join(lines))
    with pytest.raises(SuiteError) as caught:
        read_labels(path)
    needed = "needed: run, trial, rubric, label, labeller"
    assert [(each.line, each.text) for each in caught.value.problems] == [
        (2, "label 'satisfied' is none of met, not_met, cannot_tell"),
        (3, "label 'mett' is none of met, not_met, cannot_tell; did you mean 'met'?"),
        (4, f"no 'rubric'; {needed}"),
        (5, f"no 'labeller'; {needed}"),
        (6, "part 'testing' is none of tuning, acceptance"),
        (7, f"no 'label'; {needed}"),
        (8, f"no 'label'; {needed}"),
    ]
    assert str(caught.value).startswith(f"{path}:2: label 'satisfied'")


@pytest.mark.parametrize(
    ("name", "data", "line", "text"),
    [
        ("a.xlsx", b"", 1, "labels are .jsonl or .csv, not '.xlsx'"),
        ("a.jsonl", b"\xff\xfe", 1, "is no UTF-8 at byte 0"),
        ("a.jsonl", b"\n{run: 1}", 2, "is no JSON"),
        ("a.jsonl", b"[1]", 1, "is no JSON object"),
        ("a.csv", b"run,trial,rubric,label,by\n", 1, "no column 'labeller'"),
        ("a.csv", b"", 1, "no column 'run'"),
        ("a.csv", b'run,trial,rubric,label,labeller\nr,"t"x,u,met,a\n', 2, "is no CSV"),
        ("a.csv", b"run,trial,rubric,label,labeller\nr,t,,met,a\n", 2, "no 'rubric'"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, data: bytes, line: int, text: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SuiteError) as caught:
        read_labels(tmp_path / name)
    (problem,) = caught.value.problems
    assert (problem.line, problem.text[: len(text)]) == (line, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be read: No such file"):
        read_labels(tmp_path / "a.csv")


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.csv", "any.jsonl"):
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
        try:
            read_labels(folder / name)
        except SuiteError as refused:
            assert refused.problems


def test_labels_of_a_trial_stay_together_and_parts_are_about_even() -> None:
    found = [part_of("run", f"t-{each}") for each in range(400)]
    assert 160 < found.count("tuning") < 240
    assert found == [part_of("run", f"t-{each}") for each in range(400)]
