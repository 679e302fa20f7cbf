"""`ssptool disconnect`."""

from ssptool.cli.bundles import bundled
from ssptool.cli.connect import First, Second
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def disconnect_command(system: SystemPath, how: Editing, a: First, b: Second) -> None:
    """Remove connections. The inverse of `connect`.

    For example `ssptool disconnect plant Motor Gear` (all connections of the two), or `ssptool disconnect plant Motor.w
    Gear.w`.
    """
    with edited(system, how) as editor:
        editor.disconnect(a, b)
