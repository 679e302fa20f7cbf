"""Names of the master algorithms: for each the module that states it, and one line of help.

Only the standard library is needed, so that the command line and `Settings` know the names without loading numerics.
All else about a master stands in its module (`ssptool.engine.masters.registry.MasterEntry`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from ssptool.errors import WrongValue

AUTO = "auto"
"""Leaves the choice to the plan."""


class NamedMaster(NamedTuple):
    """A master under the name by which users ask for it.

    Attributes
    ----------
    name
        As in `--master NAME`.
    help
        Which components step when, in a few words.
    module
        Of which the attribute `MASTER` is the `MasterEntry`.
    """

    name: str
    help: str
    module: str


_REGISTERED: dict[str, NamedMaster] = {}


def register(master: NamedMaster) -> None:
    """Let users ask for a master by its name.

    Raises
    ------
    WrongValue
        The name is taken.
    """
    known = _REGISTERED.get(master.name)
    if known is not None and known.module != master.module:
        raise WrongValue(
            f"{master.module}: {known.module} has registered a master {master.name!r}; choose another name"
        )
    if master.name == AUTO:
        raise WrongValue(f"{master.module}: the name {AUTO!r} leaves the choice to the plan; take another")
    _REGISTERED[master.name] = master


register(NamedMaster("jacobi", "all step at once", "ssptool.engine.masters.jacobi"))
register(NamedMaster("gauss-seidel", "one after the other", "ssptool.engine.masters.gauss_seidel"))
register(
    NamedMaster(
        "iterated",
        "those that feed each other repeat the step until their values agree",
        "ssptool.engine.masters.iterated",
    )
)


def registered() -> Iterator[NamedMaster]:
    """All masters, in the order in which they were registered."""
    yield from _REGISTERED.values()


def named(name: str) -> NamedMaster:
    """The master of this name. Raises KeyError."""
    return _REGISTERED[name]


def words() -> tuple[str, ...]:
    """What users may ask for."""
    return (AUTO, *_REGISTERED)


def help_on_masters() -> str:
    """All that users may ask for, in a sentence."""
    *others, last = (f"{one.name} ({one.help})" for one in registered())
    return f"{', '.join((AUTO, *others))} or {last}."
