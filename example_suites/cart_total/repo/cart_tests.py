"""Run them with: python -m unittest cart_tests"""

import unittest

from cart import Cart


class TotalTest(unittest.TestCase):
    def test_an_empty_cart_costs_nothing(self):
        self.assertEqual(Cart().total(), 0)

    def test_one_of_each(self):
        cart = Cart()
        cart.add("lamp", 4990)
        cart.add("bulb", 350)
        self.assertEqual(cart.total(), 5340)


if __name__ == "__main__":
    unittest.main()
