"""Reads lines such as `12:30 WARN disk is nearly full`."""


def parse_line(line):
    time, level, text = line.split(" ", 2)
    return {"time": time, "level": level, "text": text}


def count_levels(lines):
    counts = {}
    for line in lines:
        level = parse_line(line)["level"]
        counts[level] = counts.get(level, 0) + 1
    return counts
