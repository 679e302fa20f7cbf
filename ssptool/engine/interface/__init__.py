"""The interface of a group over a macro step: which inputs act on which, and by how much, as far as FMUs tell."""

from typing import TYPE_CHECKING

from ssptool.engine.on_demand import on_demand

if TYPE_CHECKING:
    from ssptool.engine.interface.derivatives import InterfaceDerivatives as InterfaceDerivatives
    from ssptool.engine.interface.pattern import interface_pattern as interface_pattern
else:
    __getattr__ = on_demand(
        __name__,
        {
            "derivatives": ("InterfaceDerivatives",),
            "pattern": ("interface_pattern",),
        },
    )
