"""Which signals of a trace are drawn, and how."""

import numpy as np
import pytest

from ssptool import plot
from ssptool.engine.run.plots import curves_of
from ssptool.engine.trace import Column
from ssptool.types import Trace

COLUMNS = [
    (Column("A.x", "m"), [0.0, 1.0]),
    (Column("A.d", discrete=True), [0.0, 1.0]),
    (Column("A.n", type="UInt64"), [0, 2**64 - 1]),
    (Column("A.b", type="Boolean"), [False, True]),
    (Column("A.s", type="String"), ["on", "off"]),
]
TRACE = Trace.of([0.0, 1.0], COLUMNS)


def test_without_patterns_real_numbers_are_drawn_discrete_ones_as_staircases():
    assert [(curve.label, curve.held) for curve in curves_of({"": TRACE}, [])] == [("A.x", False), ("A.d", True)]


def test_integers_and_booleans_that_are_asked_for_are_staircases_and_texts_are_left_out():
    curves = curves_of({"": TRACE}, ["*"])
    assert [curve.label for curve in curves] == ["A.x", "A.d", "A.n", "A.b"]
    assert [curve.held for curve in curves] == [False, True, True, True]
    assert all(curve.y.dtype == np.float64 for curve in curves)
    assert curves[3].y.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("ending", [".svg", ".html"])
def test_typed_columns_can_be_drawn(ending, tmp_path):
    pytest.importorskip({".svg": "matplotlib", ".html": "plotly"}[ending])
    plot(TRACE, tmp_path / f"plot{ending}", signals=["*"])
    assert "A.b" in (tmp_path / f"plot{ending}").read_text(encoding="utf-8") or ending == ".svg"


def test_texts_alone_are_nothing_to_draw(tmp_path):
    with pytest.raises(ValueError, match="no signal to draw"):
        plot(TRACE, tmp_path / "plot.svg", signals=["A.s"])
