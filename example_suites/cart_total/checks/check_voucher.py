"""What the third round asks for beside it."""

import json
import os

from cart import Cart


def reduced(percent, *lines):
    cart = Cart()
    for line in lines:
        cart.add(*line)
    try:
        return cart.total(voucher=percent)
    except TypeError:  # nobody has heard of vouchers yet
        return None


checks = {
    "a voucher takes its share off": reduced(10, ("lamp", 5000)) == 4500,
    "no voucher takes nothing off": reduced(0, ("lamp", 5000)) == 5000,
}
with open(os.environ["DIALEVAL_RESULT"], "w", encoding="utf-8") as file:
    json.dump({"checks": checks}, file)
