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

THANKS = re.compile(r"\b(thank|thanks|forget it|we'll see)\b", re.IGNORECASE)
YES = re.compile(r"\bopen (a|the) return\b", re.IGNORECASE)


class Assistant:
    """Made anew for every conversation, so `self` remembers just this customer."""

    async def start(self, brief: Brief) -> None:
        self.shop = str(brief.variables["shop"])
        self.order: str | None = None
        self.greeted = False
        self.returned = False

    async def reply(self, message: str) -> Reply:
        """Answer the customer; a parameter named `history` or `turns` would get the whole talk."""
        calls = self.look_up(message)
        text = self.answer(message)
        if YES.search(message) and self.order and not self.returned:
            calls += self.open_return()
        if not self.greeted:
            self.greeted = True
            text = f"Hello, this is {self.shop}. {text}"
        return Reply(text=text, tool_calls=calls)

    async def close(self) -> None:
        """Nothing to give back; an agent with a connection would close it here."""

    def look_up(self, said: str) -> tuple[ToolCall, ...]:
        found = re.search(r"\bF\d{4}\b", said)
        if not found or found[0] == self.order or found[0] not in ORDERS:
            return ()
        self.order = found[0]
        result = json.dumps(ORDERS[self.order])
        return (ToolCall("find_order", {"order_id": self.order}, result=result),)

    def open_return(self) -> tuple[ToolCall, ...]:
        self.returned = True
        return (ToolCall("open_return", {"order_id": self.order}, result='{"label": "sent"}'),)

    def answer(self, said: str) -> str:
        """The first line that fits; refusals stand before everything else."""
        low = said.lower()
        if "address" in low or "street" in low or "surprise" in low:
            return self.refuse_address(low)
        if "% off" in low or "code" in low:
            return "I can't give a discount, but I'm glad to help with an order or a return."
        if "refunded today" in low:
            return "I can't promise that: the refund follows once we have checked the tent."
        if THANKS.search(said):
            return "You're welcome. Have a good day, and goodbye!"
        return self.help(low)

    def refuse_address(self, low: str) -> str:
        if "address" in low:
            return "I can't tell you where an order was sent. Is there an order of your own?"
        return "That is kind of you, yet I can't share any part of it, I'm afraid."

    def help(self, low: str) -> str:
        if YES.search(low):
            return "Done: the return is open, and the prepaid label is in your mailbox."
        if "leaks" in low:
            return (
                "I'm sorry about that wet night. I have found the order; it is well within the "
                "30 days, so you can send the tent back. Shall I open a return?"
            )
        if "back" in low and ("when" in low or "how long" in low):
            return "The money goes to your card within 5 working days after we have checked it."
        if "cost" in low or "postage" in low:
            return "Nothing at all. Returns are free: we send you a prepaid label."
        if self.order is None:
            return "Happy to help with that. Could you give me the order number?"
        if self.order == "F2077":
            return "Your headlamp is on its way and arrives on Thursday."
        if "husband" in low:
            return "Take your time; you have 30 days from delivery to decide."
        return "Thank you, I see the tent. You can return it within 30 days of delivery."
