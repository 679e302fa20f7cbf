"""Studies: many runs of one system, their points, the runs on Dask, their results and calibration."""
