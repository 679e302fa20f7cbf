"""Many runs of one system: what is varied, the runs on Dask, their results, and what they are good for."""
