"""Server-sent events in whatever pieces: what came together is read as what came byte by byte."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.models.event_stream import EventStream
from pytest_dialeval.models.wire import StreamReader, Unreadable

texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from([", ", "},{", "]", '"'])


def event(text: str, indent: int | None) -> str:
    chunk = json.dumps({"choices": [{"delta": {"content": text}}]}, indent=indent)
    return "".join(f"data: {line}\n" for line in chunk.split("\n")) + "\n"


events = st.builds(event, texts, st.sampled_from([None, None, None, 0]))
odd = st.sampled_from(
    [": hello\n\n", "data: \n\n", "event: ping\n", "data: {}\n\n", "\n", "data: ]\n"]
)
streams = st.lists(events | odd, max_size=6).map("".join)


def read(pieces: list[bytes]) -> tuple[object, ...]:
    reader = StreamReader()
    stream = EventStream(reader)
    try:
        for each in pieces:
            stream.feed(each)
        stream.close()
    except Unreadable as error:
        return (str(error),)
    return reader.done, "".join(reader._text)


@given(
    streams,
    st.sampled_from(["", "data: [DONE]\n\n", "data: [DONE]"]),
    st.sampled_from(["\n", "\r"]),
)
def test_together_is_as_byte_by_byte(stream: str, end: str, ending: str) -> None:
    whole = f"{stream}{end}"
    if ending == "\r":
        whole = whole.replace("\n", "\r\n")
    data = whole.encode()
    alone = [data[place : place + 1] for place in range(len(data))]
    assert read([data]) == read(alone)
