"""A model as the simulated user in a whole run: what the summary says, and whose fault is whose."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

MODEL = """
from pytest_dialeval.conversation.asking import Asking
from pytest_dialeval.conversation.model_user import model_simulator
from pytest_dialeval.errors import BudgetSpent, ProviderFault
from pytest_dialeval.models.specs import parse_spec
from pytest_dialeval.records.model import ChatAnswer


class Customer:
    def __init__(self):
        self.replies = {replies}

    async def chat(self, call, *, deadline):
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return ChatAnswer(reply)


def pytest_dialeval_simulators(config):
    spec = parse_spec("user", "openai:customer")
    return {{"model": model_simulator(Asking(Customer(), spec, "c", 1, None, 30))}}
"""
LAMP, BYE = '{"say": "Have you got a lamp?"}', '{"say": "Bye then."}'


def suite(shop: Shop, *replies: str) -> None:
    shop.write("conftest.py", MODEL.format(replies=f"[{', '.join(replies)}]"))
    shop.suite(rubrics=[rubric("greet"), rubric("bye", "Goodbye")])


def test_the_summary_tells_how_faithfully_it_played(shop: Shop) -> None:
    suite(shop, repr(LAMP), repr(""), repr(BYE))

    result = shop.run()

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["simulated user: 2 lines by *, 1 asked again (empty 1)"])
    figures = shop.agent_figures()["simulator"]
    assert {**figures, "model": None} == {
        "model": None, "lines": 2, "asked_again": 1, "template": 0, "reasons": {"empty": 1},
    }  # fmt: skip
    said = [each["text"] for each in shop.traces()[0] if each.get("speaker") == "user"]
    assert said == ["Have you got a lamp?", "Bye then."]


def test_lines_of_the_script_stand_in(shop: Shop) -> None:
    suite(shop, repr(LAMP), repr(""), repr("Agent: bye"))

    result = shop.run()

    result.stdout.fnmatch_lines(["simulated user: 1 line by *, 1 *(empty 1), 1 from the template"])
    assert shop.traces()[0][-1]["fidelity"]["template"] == 1


@pytest.mark.parametrize(
    ("error", "outcome"),
    [("ProviderFault('down')", "provider_error"), ("BudgetSpent('none left')", "cancelled")],
)
def test_a_model_that_fails_leaves_the_agent_unmeasured(
    shop: Shop, error: str, outcome: str
) -> None:
    suite(shop, repr(LAMP), error)

    result = shop.run()

    result.assert_outcomes(errors=2)
    assert result.ret == 10
    assert shop.summary["outcomes"][outcome] == 1
    assert shop.agent_figures()["simulator"]["lines"] == 1


def test_without_a_model_the_summary_has_no_figures_of_it(shop: Shop) -> None:
    shop.suite()

    result = shop.run()

    assert "simulated user" not in result.stdout.str()
    assert shop.agent_figures()["simulator"] is None
