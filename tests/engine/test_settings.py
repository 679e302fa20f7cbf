"""What cannot be meant is refused where it is said, also where the run would make no use of it."""

import pytest

from ssptool import Settings
from ssptool.engine.method_names import words


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("master", words())
def test_a_tolerance_is_a_positive_number(master, tolerance):
    with pytest.raises(ValueError, match=r"the tolerance must be positive, found"):
        Settings(master=master, tolerance=tolerance)


@pytest.mark.parametrize("threads", [0, -2])
def test_there_is_one_thread_at_least(threads):
    with pytest.raises(ValueError, match=f"threads must be a whole number of at least 1; found {threads}"):
        Settings(threads=threads)
