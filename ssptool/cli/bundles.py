"""Options that belong together: declared once, taken by a command as one value."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def bundled(**bundles: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take options in bundles.

    `@bundled(settings=settings_from)` over `def command(settings: Settings)` gives the command the options that are the
    parameters of `settings_from`, in the place of `settings`, and calls it with what that function makes of them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        options = {name: inspect.signature(make).parameters for name, make in bundles.items()}

        @wraps(command)
        def call(**values: Any) -> None:
            for name, make in bundles.items():
                values[name] = make(**{option: values.pop(option) for option in options[name]})
            command(**values)

        parameters = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in own.parameters.values()
            for option in (options[parameter.name].values() if parameter.name in options else [parameter])
        ]
        # What typer reads to find the options and their types.
        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate
