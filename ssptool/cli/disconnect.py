"""`ssptool disconnect`."""

import ssptool
from ssptool.cli.connect import First, Second
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant


def disconnect_command(
    system: SystemPath, a: First, b: Second, variant: Variant = None, diff: Diff = False, force: Force = False
) -> None:
    """Remove what connects two connectors, terminals or elements."""
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        editor.disconnect(a, b)
