"""A suite becomes an ordered plan; every draw is a hash."""
