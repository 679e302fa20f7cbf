"""Pictures of runs."""

from ssptool.drawing.plot import check_plot_name as check_plot_name
from ssptool.engine.plotting import curves_of as curves_of
from ssptool.engine.plotting import plot as plot
