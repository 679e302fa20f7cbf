"""Master algorithms, one file each: in which order signals are exchanged and instances stepped."""

from typing import TYPE_CHECKING

from ssptool.engine.on_demand import on_demand

if TYPE_CHECKING:
    from ssptool.engine.masters.adaptive import Adaptive as Adaptive
    from ssptool.engine.masters.energy import EnergyControlled as EnergyControlled
    from ssptool.engine.masters.eventful import Eventful as Eventful
    from ssptool.engine.masters.gauss_seidel import GaussSeidel as GaussSeidel
    from ssptool.engine.masters.interface_newton import InterfaceNewton as InterfaceNewton
    from ssptool.engine.masters.iterated import Iterated as Iterated
    from ssptool.engine.masters.iterated_choice import choose_iterated as choose_iterated
    from ssptool.engine.masters.jacobi import Jacobi as Jacobi
    from ssptool.engine.masters.short_step import WithShortStep as WithShortStep
else:
    __getattr__ = on_demand(
        __name__,
        {
            "adaptive": ("Adaptive",),
            "energy": ("EnergyControlled",),
            "eventful": ("Eventful",),
            "gauss_seidel": ("GaussSeidel",),
            "interface_newton": ("InterfaceNewton",),
            "iterated": ("Iterated",),
            "iterated_choice": ("choose_iterated",),
            "jacobi": ("Jacobi",),
            "short_step": ("WithShortStep",),
        },
    )
