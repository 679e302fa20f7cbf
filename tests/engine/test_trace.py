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


# -- to other libraries --------------------------------------------------------------------------------------


@pytest.fixture
def trace():
    columns = (Column("A.x", "m", description="where A is"), Column("B.y"))
    return Trace(np.arange(3.0), np.arange(6.0).reshape(3, 2), columns)


def test_columns_are_views(trace):
    arrays = trace.to_numpy()
    assert list(arrays) == ["time", "A.x", "B.y"]
    assert arrays["B.y"].tolist() == [1, 3, 5]
    assert all(np.shares_memory(array, trace.t) or np.shares_memory(array, trace.cells) for array in arrays.values())


def test_a_frame_has_the_time_as_index_and_copies_nothing(trace):
    pytest.importorskip("pandas")
    frame = trace.to_pandas()
    assert (frame.index.name, frame.index.tolist(), list(frame.columns)) == ("time", [0, 1, 2], ["A.x", "B.y"])
    assert frame["B.y"].tolist() == [1, 3, 5]
    assert frame.attrs["units"] == {"A.x": "m", "B.y": None}
    assert np.shares_memory(frame["A.x"].to_numpy(), trace.cells)


def test_a_dataset_has_units_and_copies_nothing(trace):
    pytest.importorskip("xarray")
    dataset = trace.to_xarray()
    assert dataset["B.y"].sel(time=1.0) == 3
    assert dataset["A.x"].attrs == {"units": "m", "long_name": "where A is"}
    assert dataset["time"].attrs == {"units": "s"}
    assert np.shares_memory(dataset["A.x"].values, trace.cells)
