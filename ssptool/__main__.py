"""`python -m ssptool` is the command `ssptool`, of the environment of that Python."""

from ssptool.cli.main import main

main()
