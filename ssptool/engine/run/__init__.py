"""Running: default choices and the resulting plan, initialization, and steps to the stop time."""
