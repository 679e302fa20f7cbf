"""Model exchange: all components that only give derivatives, integrated as one ordinary differential equation."""

from typing import TYPE_CHECKING

from ssptool.engine.on_demand import on_demand

if TYPE_CHECKING:
    from ssptool.engine.ode.as_instance import AsInstance as AsInstance
    from ssptool.engine.ode.as_instance import idle_steps as idle_steps
    from ssptool.engine.ode.begin import begin_alone as begin_alone
    from ssptool.engine.ode.begin import begin_beside as begin_beside
    from ssptool.engine.ode.beside import Beside as Beside
    from ssptool.engine.ode.integrated import Integrated as Integrated
    from ssptool.engine.ode.method import Method as Method
    from ssptool.engine.ode.system import Sweeps as Sweeps
    from ssptool.fmu.exchange import functions_of_exchange as functions_of_exchange
else:
    __getattr__ = on_demand(
        __name__,
        {
            "as_instance": (
                "AsInstance",
                "idle_steps",
            ),
            "begin": (
                "begin_alone",
                "begin_beside",
            ),
            "beside": ("Beside",),
            "integrated": ("Integrated",),
            "method": ("Method",),
            "system": (
                "Sweeps",
                "functions_of_exchange",
            ),
        },
    )
