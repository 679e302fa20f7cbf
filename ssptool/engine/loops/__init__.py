"""Solvers of algebraic loops x = g(x): one file each, all with `solve(g, x0, domain) -> Solution`."""

from typing import TYPE_CHECKING

from ssptool.engine.on_demand import on_demand

if TYPE_CHECKING:
    from ssptool.engine.loops.aitken import Aitken as Aitken
    from ssptool.engine.loops.anderson import Anderson as Anderson
    from ssptool.engine.loops.chain import Chain as Chain
    from ssptool.engine.loops.chain import default_chain as default_chain
    from ssptool.engine.loops.fixed_point import FixedPoint as FixedPoint
    from ssptool.engine.loops.homotopy import Homotopy as Homotopy
    from ssptool.engine.loops.jacobian import FiniteDifferences as FiniteDifferences
    from ssptool.engine.loops.jacobian import Jacobian as Jacobian
    from ssptool.engine.loops.jacobian import Products as Products
    from ssptool.engine.loops.jacobian import contradicted as contradicted
    from ssptool.engine.loops.jacobian import probe as probe
    from ssptool.engine.loops.newton import Newton as Newton
    from ssptool.engine.loops.singular import null_direction as null_direction
else:
    __getattr__ = on_demand(
        __name__,
        {
            "aitken": ("Aitken",),
            "anderson": ("Anderson",),
            "chain": (
                "Chain",
                "default_chain",
            ),
            "fixed_point": ("FixedPoint",),
            "homotopy": ("Homotopy",),
            "jacobian": (
                "FiniteDifferences",
                "Jacobian",
                "Products",
                "contradicted",
                "probe",
            ),
            "newton": ("Newton",),
            "singular": ("null_direction",),
        },
    )
