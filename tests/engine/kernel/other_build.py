"""A pytest plugin that puts another build of the native kernel in place, such as one with sanitizers.

`python -m pytest -p tests.engine.kernel.other_build`, with the folder of the build in SSPTOOL_KERNEL. A plugin named on
the command line is loaded before anything that imports the installed kernel.
"""

import importlib.util
import os
import sys
from pathlib import Path

for name in ("_kernel", "_methods"):
    module_name = f"ssptool.engine.kernel.{name}"
    assert module_name not in sys.modules, "the installed kernel was loaded already"
    (path,) = Path(os.environ["SSPTOOL_KERNEL"]).glob(f"{name}.*")
    specification = importlib.util.spec_from_file_location(module_name, path)
    assert specification and specification.loader, path
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module
    specification.loader.exec_module(module)
