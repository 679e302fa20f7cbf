"""Studies: many runs of one system, their points, the processes that do the runs, their results and calibration."""
