"""What the request asks for: the agent never sees this file."""

import json
import os

from logs import count_levels, parse_line


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return f"it raised {type(error).__name__}"


checks = {
    "whole lines": outcome(count_levels, ["1 INFO a", "2 WARN b", "3 INFO c"])
    == {"INFO": 2, "WARN": 1},
    "an empty line is left out": outcome(count_levels, ["1 INFO a", ""]) == {"INFO": 1},
    "a line of spaces": outcome(count_levels, ["   ", "1 INFO a"]) == {"INFO": 1},
    "a level without text": outcome(parse_line, "12:30 INFO")
    == {"time": "12:30", "level": "INFO", "text": ""},
}
with open(os.environ["DIALEVAL_RESULT"], "w", encoding="utf-8") as file:
    json.dump({"checks": checks}, file)
