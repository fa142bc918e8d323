"""A shopping cart; all prices are whole cents."""


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, name, cents, count=1):
        self.lines.append((name, cents, count))

    def total(self):
        return sum(cents for _, cents, _ in self.lines)
