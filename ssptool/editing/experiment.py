"""The default experiment of a system: from when to when it is simulated unless somebody says otherwise."""

from math import inf, isnan

from ssptool.documents import ssd
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.units import number_text


def set_experiment(draft: Draft, start: float | None = None, stop: float | None = None) -> None:
    """Set the start or the stop time [s], or both; what is None stays.

    Raises
    ------
    EditError
        It would not end after its start.
    """
    found = draft.root.default_experiment
    old_start, old_stop = (None, None) if found is None else (found.start_time, found.stop_time)
    first, last = start if start is not None else old_start or 0.0, stop if stop is not None else old_stop
    if isnan(first) or first in (inf, -inf):
        raise EditError(f"the start time {first:g} has to be a number")
    if last is not None and not first < last < inf:
        raise EditError(f"the stop time {last:g} has to be a number greater than the start time {first:g}")
    if found is None:
        draft.root.default_experiment = found = ssd.DefaultExperiment.new()
    for name, time in (("startTime", start), ("stopTime", stop)):
        if time is not None:
            found.set(name, number_text(time))
            draft.note(f"set the {_WORDS[name]} of the default experiment to {number_text(time)} s")


def unset_experiment(draft: Draft, *, start: bool = False, stop: bool = False) -> None:
    """Take the start or the stop time away; an experiment without both goes.

    Raises
    ------
    EditError
        There is no such time.
    """
    found = draft.root.default_experiment
    for name, wanted in (("startTime", start), ("stopTime", stop)):
        if not wanted:
            continue
        if found is None or found.get(name) is None:
            raise EditError(f"{draft.document.name} states no {_WORDS[name]}, so there is nothing to unset")
        del found.attrib[name]
        draft.note(f"the default experiment has no {_WORDS[name]} now")
    if found is not None and not found.attrib and not len(found):
        found.delete()


_WORDS = {"startTime": "start time", "stopTime": "stop time"}
