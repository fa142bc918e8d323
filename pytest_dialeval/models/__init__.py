"""Language models: one door to every endpoint, cassettes of what they said, and a budget."""
