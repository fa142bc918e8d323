"""Numbers in, numbers out: Pass^k, pass@k and the intervals round them."""
