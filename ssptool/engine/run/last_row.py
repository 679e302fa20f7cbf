"""Last row of a run that ends early, because of a value that is not finite or because a component ended the
simulation.
"""

import numpy as np

from ssptool.engine.failure import Ending, Failure, RunError
from ssptool.engine.kernel.calls import Call, Floats
from ssptool.engine.masters.master import CLOSE
from ssptool.engine.run.coupling import real_slots
from ssptool.engine.run.system import SystemSteps
from ssptool.fmu.description import InterfaceType
from ssptool.fmu.instance import FmiError


def last_row(steps: SystemSteps, failure: Failure, last: Floats) -> tuple[Floats | None, str]:
    """The row (1 + recorded,) after the `last` one of an early end, and a remark on it; None if there is no such
    row.
    """
    if failure.ending is Ending.NONFINITE:
        return _with_nonfinite(steps, failure, float(last[0]))
    if failure.ending is Ending.TERMINATED and not steps.assembly.plan.is_one_ode:
        return _of_end(steps, failure, last)
    return None, ""


def _with_nonfinite(steps: SystemSteps, failure: Failure, since: float) -> tuple[Floats | None, str]:
    """Last row with the value that is not finite. There is none if no slot contains the value (for example a
    derivative), or if the step was undone.
    """
    if failure.time < since:
        return None, ""
    kernel, ode, plan = steps.kernel, steps.assembly.ode_kernel, steps.assembly.plan
    chosen = real_slots(plan)
    values, reals = kernel.values, slice(None) if chosen is None else chosen
    if ode is not None:
        values[reals] = np.where(np.isfinite(ode.values[reals]), values[reals], ode.values[reals])
    if np.isfinite(values[reals]).all():
        return None, ""
    kernel.exchange(steps.everyone)
    row = np.empty(1 + len(plan.recorded))
    if not kernel.record(failure.time, row).ok:
        return None, ""
    return row, (
        f"the last row, at t = {failure.time:.12g} s, contains the value that is not finite; "
        "components that had not reached this time keep the values of the row before"
    )


def _of_end(steps: SystemSteps, failure: Failure, last: Floats) -> tuple[Floats | None, str]:
    """Last row with the values of the component that ended the simulation, after its last event or at the end of its
    last step.

    Other components keep the values of the previous row, because they have not reached this time or have passed it.
    """
    plan, since = steps.assembly.plan, float(last[0])
    close = CLOSE * plan.interval.step
    t = since if abs(failure.time - since) <= close else failure.time
    if not since <= t <= plan.interval.stop + close:
        return None, ""
    row, found = last.copy(), np.empty(len(last))
    place = next(place for place, one in enumerate(plan.instances) if one.name == failure.component)
    stepped = plan.instances[place].interface is _CS and failure.component not in plan.event_modes.members
    if stepped and t == since:  # no step was done, but the values may already be those of its end
        return None, ""
    try:
        if not (_read(steps, place, t) and steps.kernel.record(t, found).ok):
            return None, ""
    except (RunError, FmiError):  # the simulation ends regularly even without this row
        return None, ""
    interface = plan.instances[place].interface  # components of model exchange are one ODE
    ended = {failure.component} if interface is _CS else {one.name for one in plan.instances if one.interface != _CS}
    others = {one.name for one in plan.instances} - ended
    own = [True, *(plan.signals[slot].component not in others for slot in plan.recorded)]
    row[own] = found[own]
    if row.tobytes() == last.tobytes():
        return None, ""
    remark = (
        f"the last row, at t = {t:.12g} s, has the values of {failure.component} there; all other components keep the "
        "values of the row before"
    )
    return row, remark if others and t > since else ""


_CS = InterfaceType.CO_SIMULATION


def _read(steps: SystemSteps, place: int, t: float) -> bool:
    """Read the values of the component with this number, at its end at t [s], into the kernel; true if it returned
    them.
    """
    plan = steps.assembly.plan
    if plan.stimuli and t > steps.start:
        steps.write_inputs(t)
    if plan.instances[place].interface is not _CS:
        steps.show_end(t)
    elif not steps.assembly.perform([Call(place, (), plan.instances[place].output_slots)]).ok:
        return False
    steps.kernel.exchange(steps.everyone)
    return True
