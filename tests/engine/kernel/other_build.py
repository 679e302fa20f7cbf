"""A pytest plugin that puts another build of the native kernel in place, such as one with sanitizers.

`python -m pytest -p tests.engine.kernel.other_build`, with the path of the build in SSPTOOL_KERNEL. A plugin named on
the command line is loaded before anything that imports the installed kernel.
"""

import importlib.util
import os
import sys

NAME = "ssptool.engine.kernel._kernel"

assert NAME not in sys.modules, "the installed kernel was loaded already"
specification = importlib.util.spec_from_file_location(NAME, os.environ["SSPTOOL_KERNEL"])
assert specification and specification.loader, os.environ["SSPTOOL_KERNEL"]
module = importlib.util.module_from_spec(specification)
sys.modules[NAME] = module
specification.loader.exec_module(module)
