"""`python -m ssptool`: the command `ssptool` in the environment of that Python."""

import sys
from pathlib import Path

# Python puts the current folder first, where the files of a stranger may be that are to be checked.
if not sys.flags.safe_path and sys.path[:1] == [str(Path.cwd())]:
    del sys.path[0]

from ssptool.cli.main import main

main()
