from __future__ import annotations

import pytest

from pytest_dialeval.conversation.fault import fault_of, shortened, shown
from pytest_dialeval.errors import (
    AgentFault,
    BudgetSpent,
    HarnessFault,
    JudgeFault,
    NotMeasured,
    ProviderFault,
)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_names_kind_message_and_the_line_of_the_users_file():
    fault = fault_of(raised(ValueError("boom")))
    assert isinstance(fault, AgentFault)
    assert str(fault).startswith("the agent raised ValueError: boom (conversation/test_fault.py:")


def test_the_line_is_the_users_even_where_a_library_raised():
    with pytest.raises(ValueError) as caught:
        int("x", base=99)
    inside = fault_of(caught.value)
    try:
        import json

        json.loads("{")
    except ValueError as error:
        inside = fault_of(error)
    assert "test_fault.py" in str(inside)


def test_an_environment_that_pytest_changed_is_not_the_agents():
    """Its name is there when keys are listed, and gone when its value is asked for."""
    fault = fault_of(raised(KeyError("PYTEST_CURRENT_TEST")))
    assert isinstance(fault, HarnessFault) and "copied os.environ" in str(fault)
    assert isinstance(fault_of(raised(KeyError("ORDER"))), AgentFault)


@pytest.mark.parametrize(
    "error",
    [
        AgentFault("a"),
        HarnessFault("h"),
        NotMeasured("n"),
        ProviderFault("p"),
        BudgetSpent("b"),
    ],
)
def test_faults_that_name_whose_they_are_stay(error: Exception):
    assert fault_of(error) is error


def test_what_an_agent_raised_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture):
    error = raised(ValueError("boom"))
    fault_of(error)
    fault_of(AgentFault("said and done"))  # no exception of the agent's: there is no more to say
    [record] = caplog.records
    assert (record.name, record.levelname) == ("pytest_dialeval.conversation.fault", "ERROR")
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_an_agent_cannot_blame_the_judge():
    assert type(fault_of(JudgeFault("x"))) is AgentFault


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_exits_are_faults_too(error: BaseException):
    assert type(error).__name__ in str(fault_of(error))


@pytest.mark.parametrize("second", [RuntimeError("no"), SystemExit(3), KeyboardInterrupt()])
def test_an_exception_that_cannot_show_itself_is_said(second: BaseException):
    class Shy(Exception):
        def __str__(self) -> str:
            raise second

        __repr__ = __str__

    kind = type(second).__name__
    assert f"Shy: <its text raises {kind}>" in str(fault_of(Shy()))
    assert shown(Shy()) == f"<Shy whose repr raises {kind}>"


def test_an_object_of_another_loop_gets_the_remedy():
    fault = fault_of(RuntimeError("got Future attached to a different loop"))
    assert "make it in `start`" in str(fault)


def test_text_is_cleaned_and_bounded():
    text = str(fault_of(ValueError("\x1b[31m" + "x" * 10_000)))
    assert "\x1b" not in text and len(text) < 2100 and "characters" in text


def test_shortened_and_shown():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc... (4 characters)"
    assert shown("a\x00") == "'a\\x00'"
