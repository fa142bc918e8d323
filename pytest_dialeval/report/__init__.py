"""A finished run -> what a person reads."""
