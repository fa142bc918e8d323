"""What the first request asks for: the agent never sees this file."""

import json
import os

from cart import Cart


def filled(*lines):
    cart = Cart()
    for line in lines:
        cart.add(*line)
    return cart


checks = {
    "an empty cart costs nothing": filled().total() == 0,
    "one of each": filled(("lamp", 4990), ("bulb", 350)).total() == 5340,
    "several of an item": filled(("lamp", 4990), ("bulb", 350, 4)).total() == 6390,
}
with open(os.environ["DIALEVAL_RESULT"], "w", encoding="utf-8") as file:
    json.dump({"checks": checks}, file)
