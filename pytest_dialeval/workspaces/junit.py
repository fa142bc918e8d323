"""Single tests of a JUnit file. Its text comes from code under test: no entity is ever expanded."""

from __future__ import annotations

from xml.parsers import expat

_WRONG = frozenset({"failure", "error"})
_COUNTS = ("failures", "errors")


class NoJunit(Exception):
    """The file is none; the text says why."""


def junit_tests(data: bytes) -> dict[str, bool]:
    """Whether each test passed, by `class.name`; those that were skipped say nothing."""
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = reading.doctype
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    try:
        parser.Parse(data, True)
    # Whatever a codec raises that the file names: `hex` is none of texts, `big5` has several bytes.
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise NoJunit(f"it is no XML ({str(error)[:100]})") from None
    if not reading.suites:
        raise NoJunit("it has no <testsuite>")
    if reading.counted and all(reading.tests.values()):
        raise NoJunit("it counts failures or errors, and shows none")
    return reading.tests


class _Reading:
    def __init__(self) -> None:
        self.suites = 0
        self.counted = False  # whether a suite says that something went wrong
        self.tests: dict[str, bool] = {}
        self._name: str | None = None  # of the test that is being read
        self._passed: bool | None = None

    def doctype(self, *_: object) -> None:
        raise NoJunit("it declares a document type, which no report of tests needs")

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag in ("testsuite", "testsuites"):
            self.suites += 1
            self.counted |= any(given.get(each, "0").strip("0 ") for each in _COUNTS)
        elif tag == "testcase":
            if self._name is not None:
                raise NoJunit("it has a test inside a test")
            parts = (given.get("classname", ""), given.get("name", ""))
            self._name, self._passed = ".".join(filter(None, parts)), True
        elif tag in _WRONG and self._name is None:
            self.counted = True
        elif tag in _WRONG:
            self._passed = False
        elif tag == "skipped" and self._passed:
            self._passed = None

    def end(self, tag: str) -> None:
        if tag != "testcase" or self._name is None:
            return
        if self._passed is not None:
            # Two of one name: both must hold.
            self.tests[self._name] = self._passed and self.tests.get(self._name, True)
        self._name = None
