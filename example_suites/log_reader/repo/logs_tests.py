"""Run them with: python -m unittest logs_tests"""

import unittest

from logs import count_levels, parse_line


class LogsTest(unittest.TestCase):
    def test_a_line_has_three_parts(self):
        self.assertEqual(
            parse_line("12:30 WARN disk is nearly full"),
            {"time": "12:30", "level": "WARN", "text": "disk is nearly full"},
        )

    def test_levels_are_counted(self):
        self.assertEqual(count_levels(["1 INFO a", "2 WARN b", "3 INFO c"]), {"INFO": 2, "WARN": 1})


if __name__ == "__main__":
    unittest.main()
