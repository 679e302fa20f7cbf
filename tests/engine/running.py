"""Runs of plans, with the options of the job and of the run in one call."""

from dataclasses import fields

from ssptool.engine.run.execution import Job
from ssptool.engine.run.recorder import Recording
from ssptool.engine.settings import Limits
from ssptool.engine.simulate import Run

OF_JOB = {one.name for one in fields(Job)}


def run(plan, sources, *, recording=None, output=None, isolated=False, **options):
    """The result of a plan; `isolated`: in a child process without limits."""
    job = Job(plan, sources, **{name: value for name, value in options.items() if name in OF_JOB})
    rest = {name: value for name, value in options.items() if name not in OF_JOB}
    if isolated:
        rest.setdefault("limits", Limits())
    return Run(job, recording or Recording(output), **rest).result()
