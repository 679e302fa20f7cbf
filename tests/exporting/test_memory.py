"""Memory of an importer that loads and unloads exported FMUs over and over."""

import ctypes
import sys

import fmpy
import pytest

from tests.exporting.fmus import SYSTEMS, exported


class _MallocInfo(ctypes.Structure):
    _fields_ = tuple((f"field{number}", ctypes.c_size_t) for number in range(10))


def allocated():
    """[bytes] that the process has from malloc and has not given back."""
    function = ctypes.CDLL(None).mallinfo2
    function.restype = _MallocInfo
    found = function()
    return found.field4 + found.field7  # hblkhd: mapped; uordblks: in arenas


@pytest.mark.skipif(sys.platform != "linux", reason="mallinfo2 is a function of glibc")
def test_an_fmu_that_is_loaded_and_unloaded_leaves_no_memory_behind(fmi, tmp_path):
    """The C++ library inside keeps 73 kB for exceptions, which each load would take anew."""
    unpacked = fmpy.extract(exported(SYSTEMS / "dual_mass_oscillator", tmp_path, fmi=fmi, stop_time=0.01), tmp_path)
    description = fmpy.read_model_description(unpacked)

    def load_and_run(times):
        for _ in range(times):
            fmpy.simulate_fmu(unpacked, model_description=description, stop_time=0.01, output_interval=0.01)

    load_and_run(5)
    before = allocated()
    load_and_run(20)
    assert allocated() - before < 20 * 10_000  # FMPy's own objects take some
