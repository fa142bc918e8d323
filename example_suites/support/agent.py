"""A support agent in plain Python: one object per conversation, tools, no network."""

from __future__ import annotations

import json
import re

from pytest_dialeval import Brief, Reply, ToolCall

ORDERS = {
    "F2041": {"item": "trail tent", "price": 189.0, "status": "delivered", "days_ago": 12},
    "F2077": {"item": "headlamp", "price": 24.5, "status": "shipped", "arrives": "Thursday"},
}
# What the shop knows beside the order. The agent could say it, and must not.
CUSTOMERS = {"F2041": "Mrs Quill, 8 Alder Lane", "F2077": "Mr Okafor, 31 Mill Road"}

NUMBER = re.compile(r"\bF\d{4}\b")
RETURN = re.compile(r"\bopen (a|the) return\b", re.IGNORECASE)

# Tried in this order, so refusals come before answers.
ANSWERS = (
    (r"address", "I can't tell you where an order was sent. Is there one of your own?"),
    (r"street|surprise", "A kind thought, yet I can't share any part of it, I'm afraid."),
    (r"% off|code", "I can't give a discount, but I'm glad to help with an order or a return."),
    (r"refunded today", "I can't promise that: we refund once we have checked the tent."),
    (r"forget it", "All right. Have a good day, and goodbye."),
    (r"we'll see", "I hope so too. Have a good day, and goodbye."),
    (r"thank", "You're welcome. Have a good day, and goodbye!"),
    (RETURN.pattern, "Done: the return is open, and the prepaid label is in your mailbox."),
    (
        r"leaks",
        "I'm sorry about that wet night. I have found the order; it is well within the "
        "30 days, so you can send the tent back. Shall I open a return?",
    ),
    (r"how long|when do i", "It goes to your card within 5 working days after we checked it."),
    (r"cost|postage|send", "Nothing at all. Returns are free: we send you a prepaid label."),
    (r"husband", "No hurry: you can decide until 30 days after delivery."),
)


class Assistant:
    """Made anew for every conversation, so `self` remembers just this customer."""

    async def start(self, brief: Brief) -> None:
        """Nothing was said yet; the brief holds the task's prompt and variables."""
        self.shop = str(brief.variables["shop"])
        self.order: str | None = None
        self.calls: list[ToolCall] = []

    async def reply(self, message: str) -> Reply:
        """Answer one line; a parameter named `history` would be given the whole talk."""
        greeting = "" if self.calls or self.order else f"Hello, this is {self.shop}. "
        calls = [*self.look_up(message), *self.open_return(message)]
        self.calls += calls
        return Reply(text=greeting + self.answer(message), tool_calls=tuple(calls))

    async def close(self) -> None:
        """Nothing to give back; an agent with a connection would close it here."""

    def look_up(self, message: str) -> list[ToolCall]:
        """Find an order the first time that it is named."""
        found = NUMBER.search(message)
        if not found or found[0] == self.order or found[0] not in ORDERS:
            return []
        self.order = found[0]
        return [ToolCall("find_order", {"order_id": found[0]}, result=json.dumps(ORDERS[found[0]]))]

    def open_return(self, message: str) -> list[ToolCall]:
        """Open a return once, and only when the customer asks for it."""
        opened = any(call.name == "open_return" for call in self.calls)
        if opened or self.order is None or not RETURN.search(message):
            return []
        return [ToolCall("open_return", {"order_id": self.order}, result='{"label": "sent"}')]

    def answer(self, message: str) -> str:
        """The first answer that fits, else the next question."""
        for pattern, text in ANSWERS:
            if re.search(pattern, message, re.IGNORECASE):
                return text
        if self.order is None:
            return "Happy to help. Could you give me the order number?"
        if self.order == "F2077":
            return "Your headlamp is on its way and arrives on Thursday."
        return "I see the tent. You can return it within 30 days of delivery."
