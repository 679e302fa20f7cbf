"""CoFmuPy steps a system; to be run by a Python that has it: `python in_cofmupy.py CONFIGURATION STEPS STEP_SIZE`.

Prints the CPU time [s] of all steps.
"""

import sys
import time

from cofmupy import Coordinator


def main() -> None:
    configuration, steps, step_size = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    coordinator = Coordinator()
    coordinator.start(configuration)
    coordinator.do_step(step_size)
    began = time.process_time()
    for _ in range(steps):
        coordinator.do_step(step_size)
    print(time.process_time() - began)


if __name__ == "__main__":
    main()
