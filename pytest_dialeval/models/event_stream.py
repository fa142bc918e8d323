"""Server-sent events: bytes in whatever pieces -> the data of each event."""

from __future__ import annotations

from pytest_dialeval.models.wire import StreamReader, Unreadable, parse, shortened


class EventStream:
    """Cuts a byte stream into events and feeds their data to a reader."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not self._data and self._at_once(lines):
            return
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line and not self._data:
                continue  # between events, it says nothing more
            self._line(line)

    def _at_once(self, lines: list[bytes]) -> bool:
        """Read all events together where each is one line, as nearly every endpoint has them."""
        events = [line[5:] for line in lines if line.startswith(b"data:")]
        others = len(lines) - len(events) - lines.count(b"")
        if len(events) < 2 or (others and others != lines.count(b"\r")):
            return False
        if ends := events[-1].strip() == b"[DONE]":
            events.pop()
        try:
            chunks = parse(b"[%s]" % b",".join(events))
        except ValueError:
            return False
        if len(chunks) != len(events):  # a comma of theirs, where ours should stand
            return False
        for chunk in () if self._reader.done else chunks:
            self._reader.add(chunk)
        self._reader.done = self._reader.done or ends
        return True

    def close(self) -> None:
        """The stream has ended: an event without its empty line is one all the same."""
        self._line(self._rest)
        self._line(b"")
        self._rest = b""

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
            # Nearly every endpoint writes one line an event; then nothing has to be waited for.
            if line.endswith((b"}", b"[DONE]")):
                self._try_now()
        elif not line and self._data:
            self._event(b"\n".join(self._data))
            self._data = []

    def _try_now(self) -> None:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        try:
            self._take(data)
        except ValueError:
            return
        self._data.clear()

    def _event(self, data: bytes) -> None:
        try:
            self._take(data)
        except ValueError:
            text = shortened(data[:2000].decode("utf-8", "replace"))
            raise Unreadable(f"a chunk of the stream is not JSON: {text!r}") from None

    def _take(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._reader.done = True
        elif data and not self._reader.done:
            self._reader.add(parse(data))


def looks_like_events(data: bytes) -> bool:
    """Whether a body is a stream of events whatever its content type says."""
    return data.lstrip().startswith((b"data:", b"event:", b":"))
