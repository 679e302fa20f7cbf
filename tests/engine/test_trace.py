"""The trace."""

import numpy as np
import pytest

from ssptool.engine.trace import Column, Trace


def test_a_signal_is_found_by_its_full_name():
    trace = Trace(np.arange(3.0), np.arange(6.0).reshape(3, 2), (Column("A.x", "m"), Column("B.y")))
    assert trace["B.y"].tolist() == [1, 3, 5]
    assert (trace.signals, trace.units, len(trace)) == (("A.x", "B.y"), ("m", None), 3)


def test_an_unknown_signal_is_refused_with_those_recorded():
    trace = Trace(np.zeros(1), np.zeros((1, 1)), (Column("A.x"),))
    with pytest.raises(KeyError, match=r"'A\.z' is not recorded; recorded are: A\.x"):
        trace["A.z"]
