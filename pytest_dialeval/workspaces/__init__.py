"""The folder that an agent works in: copies of it, what changed, and what a verifier says."""
