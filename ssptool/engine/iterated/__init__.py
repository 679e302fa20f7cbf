"""Methods of iterated steps that run in Python: Newton with derivatives of FMUs, logs of iterates, driven inputs."""
