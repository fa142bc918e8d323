"""Student's t by hand, held against scipy's, which is too slow to import for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from pytest_dialeval.statistics.student import two_sided


@given(
    freedom=st.one_of(st.integers(1, 1100), st.integers(1, 10**9)),
    confidence=st.one_of(st.floats(0.001, 0.999), st.sampled_from([0.9, 0.95, 0.99])),
)
def test_it_is_scipys(freedom: int, confidence: float) -> None:
    expected = float(stdtrit(freedom, 0.5 + confidence / 2))
    assert two_sided(freedom, confidence) == pytest.approx(expected, rel=1e-10)


# Fisher and Yates, Statistical Tables, table III.
@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (9, 2.262), (30, 2.042), (120, 1.980)]
)
def test_it_is_the_printed_table(freedom: int, t: float) -> None:
    assert round(two_sided(freedom, 0.95), 3) == t


@pytest.mark.parametrize(("freedom", "confidence"), [(0, 0.95), (9, 0.0), (9, 1.0), (9, 95.0)])
def test_what_is_no_quantile(freedom: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=f"{freedom} degrees of freedom, {confidence}"):
        two_sided(freedom, confidence)
