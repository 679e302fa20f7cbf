"""Sliders for parameters of a system, for notebooks: each move runs the system and draws its curves again."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any

from ssptool.api.check import Files
from ssptool.api.run import simulate
from ssptool.api.understand import info
from ssptool.arguments import WrongArgument, mapping, texts
from ssptool.arguments import path as file_path
from ssptool.engine.run.result import Result
from ssptool.engine.settings import Settings
from ssptool.errors import WrongValue, in_other_case, missing_extra, similar_names
from ssptool.foreign_text import html_text
from ssptool.network.inventory import VariableEntry
from ssptool.network.targets import unknown_variable
from ssptool.public_calls import public
from ssptool.rules.selection import SettingsFile

STEPS = 50
"""Steps of a slider between its ends."""


class Explorer:
    """Sliders with the curves of the last run. A notebook shows them as the value of a cell; see `explore`.

    Attributes
    ----------
    result
        Result of the last run, also of a failed one.
    sliders
        Sliders (ipywidgets) by parameter name.
    widget
        Sliders and picture, for your own layouts.
    """

    def __init__(
        self,
        system: Path,
        parameters: Mapping[str, VariableEntry],
        ranges: Mapping[str, tuple[float, float]],
        **run: Any,
    ) -> None:
        widgets = _ipywidgets()
        self._system, self._run = system, run
        self.sliders: dict[str, Any] = {
            name: widgets.FloatSlider(
                value=_value_within_range(parameters[name], low, high),
                min=low,
                max=high,
                step=(high - low) / STEPS,
                description=f"{name} [{parameters[name].unit}]" if parameters[name].unit else name,
                readout_format=".4g",
                continuous_update=False,
                style={"description_width": "initial"},
            )
            for name, (low, high) in ranges.items()
        }
        self._picture = widgets.HTML()
        self.widget: Any = widgets.VBox([*self.sliders.values(), self._picture])
        for slider in self.sliders.values():
            slider.observe(lambda _: self._update(), names="value")
        self.result: Result = self._simulated()
        self._show()

    @property
    def values(self) -> dict[str, float]:
        """Values of the sliders by parameter name."""
        return {name: float(slider.value) for name, slider in self.sliders.items()}

    def _simulated(self) -> Result:
        return simulate(self._system, start_values=self.values, **self._run)

    def _update(self) -> None:
        self.result = self._simulated()
        self._show()

    def _show(self) -> None:
        self._picture.value = self.result._repr_html_()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Show the sliders in a notebook."""
        return self.widget._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:g}" for name, value in self.values.items())
        return f"<Explorer of {html_text(str(self._system))}: {values}>"


@public
def explore(
    system: Path | str,
    ranges: Mapping[str, tuple[float, float]],
    show: str | Sequence[str] = (),
    *,
    settings: Settings | Mapping[str, object] | None = None,
    variant: str | None = None,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> Explorer:
    """Show sliders for parameters and start values in a notebook, with the curves of the system for their values.

    The system runs first with its own values, and again after each move of a slider. The accuracy is not checked.

    Parameters
    ----------
    ranges
        Full name of a parameter or start value → smallest and largest value, in the unit of the variable.
    show
        Draw signals that match one of these patterns (default: all recorded signals).
    settings
        Settings of the runs, as in `simulate`.
    variant, allow_outside, settings_file
        As in `simulate`.

    Raises
    ------
    MissingPackage
        ipywidgets is not installed.
    UnknownName
        The system has no variable of this name.
    WrongValue
        A variable is not a real parameter or start value, or its range is empty.
    """
    _ipywidgets()
    named = file_path("system", system)
    given = mapping("ranges", ranges, "a range, such as {'Motor.R': (0.3, 0.8)}")
    if not given:
        raise WrongArgument("ranges", given, "at least one parameter with a range")
    inventory = info(named, variables="*", variant=variant, allow_outside=allow_outside, settings_file=settings_file)
    known = {one.name: one for one in inventory.variables}
    chosen = {(own := _own_name(name, known)): _range(own, known, limits) for name, limits in given.items()}
    record = list(texts("show", show, "a pattern such as 'Motor.*'"))
    return Explorer(
        named,
        known,
        chosen,
        record=record,
        settings=settings,
        accuracy="off",
        variant=variant,
        allow_outside=allow_outside,
        settings_file=settings_file,
    )


def _ipywidgets() -> Any:
    try:
        return import_module("ipywidgets")
    except ImportError:
        raise missing_extra("widgets", "ipywidgets") from None


def _own_name(name: str, known: Mapping[str, VariableEntry]) -> str:
    """The name as the system has it. Raises UnknownName or AmbiguousName."""
    own = name if name in known else in_other_case(name, known)
    if own is None:
        raise unknown_variable(name, similar_names(name, known))
    return own


def _range(name: str, known: Mapping[str, VariableEntry], limits: object) -> tuple[float, float]:
    """The ends of a range. Raises WrongValue or WrongArgument."""
    one = known[name]
    if not one.type.startswith("Float") or one.shape:
        shape = " array" if one.shape else ""
        raise WrongValue(f"{name} is a variable of type {one.type}{shape}; sliders are for real numbers")
    match limits:
        case (Real() as low, Real() as high) if low < high:
            return float(low), float(high)
    raise WrongArgument(f"ranges[{name!r}]", limits, "the smallest and the largest value, such as (0.3, 0.8)")


def _value_within_range(one: VariableEntry, low: float, high: float) -> float:
    """The value of the system, or the nearer end of the range; the middle if the system has no value."""
    own = one.start if one.value is None else one.value
    return min(max(own, low), high) if isinstance(own, float) else (low + high) / 2
