"""The conversations of a run, read back from its traces or the recordings that it graded."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from pytest_dialeval.errors import DialevalError, RunError, TranscriptError
from pytest_dialeval.records.run import Conversation, TrialFacts
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES, Recording, Transcript
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.traces.disk import read_file
from pytest_dialeval.traces.reader import parse_trace
from pytest_dialeval.traces.recordings import read_recordings


class Transcripts:
    """Reads each file of recordings once, and each trace when it is asked for."""

    def __init__(
        self,
        directory: RunDirectory,
        rootdir: Path,
        facts: Mapping[str, TrialFacts],
        formats: Mapping[str, str],
    ) -> None:
        """`formats`: file or folder of recordings, from rootdir -> how it is written."""
        self._directory = directory
        self._rootdir = rootdir
        self._facts = facts
        self._formats = formats
        self._recordings: dict[str, Mapping[tuple[str, int], Recording]] = {}

    def has(self, trial: str) -> bool:
        """Whether there is a conversation of which something can be said."""
        facts = self._facts.get(trial)
        held = facts.conversation if facts else None
        if held is None or held.outcome in UNMEASURED_OUTCOMES:
            return False
        return held.trace is not None or held.recording is not None

    def explain(self, error: DialevalError) -> str:
        """Why a conversation can't be read, without the path of this machine."""
        return str(error).replace(f"{self._rootdir}/", "")

    def of(self, trial: str) -> Transcript:
        """The trial's conversation; RunError or TranscriptError where it can't be read."""
        conversation = self._conversation(trial)
        if conversation.recording is not None:
            return self._recorded(conversation.recording, conversation.sha256)
        return parse_trace(*self._trace(conversation)).transcript

    def digest(self, trial: str) -> str:
        """Changes with every byte of the conversation; 16 hex digits."""
        conversation = self._conversation(trial)
        if conversation.recording is not None:
            whole = f"{conversation.recording} {conversation.sha256}"
            return sha256(whole.encode()).hexdigest()[:16]
        return sha256(self._trace(conversation)[0]).hexdigest()[:16]

    def _conversation(self, trial: str) -> Conversation:
        facts = self._facts.get(trial)
        if facts is None or facts.conversation is None:
            raise RunError(f"run {self._directory.run_id} has no conversation of {trial}")
        return facts.conversation

    def _trace(self, conversation: Conversation) -> tuple[bytes, Path]:
        if conversation.trace is None:
            raise RunError(
                f"run {self._directory.run_id} has no trace of {conversation.trial}: "
                f"{conversation.reason or conversation.outcome}"
            )
        path = self._directory.traces / conversation.trace
        return read_file(path), path

    def _recorded(self, written: str, sha256: str | None) -> Transcript:
        # A trace of a stored run is a file of its own, and is named without a place in it.
        name, _, index = written.rpartition("#") if "#" in written else (written, "", "0")
        found = self._file(name).get((str(self._rootdir / name), int(index)))
        if found is None:
            raise TranscriptError(f"{name}: recording {index} is gone")
        if sha256 is not None and found.sha256 != sha256:
            raise TranscriptError(f"{name}: is not what the run graded; run the suite again")
        return found.transcript

    def _file(self, name: str) -> Mapping[tuple[str, int], Recording]:
        if name not in self._recordings:
            path = self._rootdir / name
            found = read_recordings(self._format(name), path)
            self._recordings[name] = {(str(path), each.index): each for each in found}
        return self._recordings[name]

    def _format(self, name: str) -> str:
        """Of the file, or of the folder of recordings that it lies in."""
        places = (name, *map(str, PurePosixPath(name).parents))
        return next((self._formats[each] for each in places if each in self._formats), "dialeval")
