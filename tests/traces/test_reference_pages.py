import re
from pathlib import Path

from pytest_dialeval.records.transcript import OUTCOMES, ToolCall
from pytest_dialeval.traces.importers.tau2 import _OUTCOMES
from pytest_dialeval.traces.reader import parse_trace
from pytest_dialeval.traces.recordings import FORMATS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_trace_on_the_page_is_one():
    example = re.search(r"```jsonl\n(.*?)```", page("traces.md"), re.DOTALL)[1]
    trace = parse_trace(example.encode(), Path("traces.md"))
    assert trace.transcript.finished and len(trace.transcript.turns) == 3
    assert trace.transcript.turns[2].tool_calls == (
        ToolCall("price", {"course": "进阶课"}, "c1", "0"),
    )
    assert [each["event"] for each in trace.events] == ["log"]


def test_every_outcome_format_and_ending_is_on_its_page():
    for outcome in OUTCOMES:
        assert f"| `{outcome}` |" in page("traces.md")
    for name in (*FORMATS, *_OUTCOMES):
        assert f"`{name}`" in page("transcript-formats.md")
