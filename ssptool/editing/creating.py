"""A new system: the text of an empty structure."""

from math import inf
from xml.sax.saxutils import quoteattr

from ssptool.documents.namespaces import NSMAP
from ssptool.editing.errors import EditError
from ssptool.editing.numbers import number_text

VERSIONS = ("1.0", "2.0")


def empty_structure(name: str, version: str, start_time: float | None, stop_time: float | None) -> bytes:
    """An SSD with a root system that has nothing in it, and a default experiment [s] if one is given.

    Raises
    ------
    EditError
        There is no such version of SSP, the name is empty, or the experiment does not end after its start.
    """
    if version not in VERSIONS:
        raise EditError(f"there is no SSP {version}; there are {' and '.join(VERSIONS)}")
    if not name:
        raise EditError("a system needs a name")
    start = 0.0 if start_time is None else start_time
    if stop_time is not None and not start < stop_time < inf:
        raise EditError(f"the stop time {stop_time:g} has to be a number greater than the start time {start:g}")
    times = {"startTime": start_time if stop_time is None else start, "stopTime": stop_time}
    stated = "".join(f' {key}="{number_text(time)}"' for key, time in times.items() if time is not None)
    experiment = f"  <ssd:DefaultExperiment{stated}/>\n" if stated else ""
    content = f"  <ssd:System name={quoteattr(name)}/>\n{experiment}"
    return _document("ssd:SystemStructureDescription", name, version, content)


def empty_parameter_set(name: str, version: str) -> bytes:
    """An SSV without parameters."""
    return _document("ssv:ParameterSet", name, version, "  <ssv:Parameters/>\n")


def _document(tag: str, name: str, version: str, content: str) -> bytes:
    prefix = tag.partition(":")[0]
    lines = [f'    xmlns:{each}="{NSMAP[each]}"' for each in (prefix, "ssc")]
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<{tag}",
            *lines,
            f'    version="{version}" name={quoteattr(name)}>',
            f"{content}</{tag}>",
            "",
        )
    ).encode()
