"""`edit` and `new` are made for `with`; without it they say so, and nothing is written."""

import gc
import warnings

import pytest

import ssptool
from tests.editing.small_systems import nested, snapshot


def test_a_system_that_is_never_begun_is_told(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"ssptool\.new\(…\) did nothing: use `with ssptool\.new\(…\) as system:`"):
        ssptool.new(tmp_path / "x.ssp")
        gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_verb_without_a_block_says_how_to_write_it(tmp_path):
    path = nested(tmp_path / "s")
    before = snapshot(path)
    with pytest.warns(RuntimeWarning, match="did nothing"):
        with pytest.raises(AttributeError) as caught:
            ssptool.edit(path).set("A.k", 2)
        assert str(caught.value) == "use `with`: `with ssptool.edit(…) as system: system.set(…)`"
        del caught
        gc.collect()
    assert snapshot(path) == before


@pytest.mark.filterwarnings("error")
def test_a_block_gives_the_editor_and_passes_errors_on(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # files that earlier tests have left open
    path = nested(tmp_path / "s")
    with ssptool.edit(path) as made:
        assert made.set("A.k", 2) is made
    before = snapshot(path)
    assert b'value="2"' in before["SystemStructure.ssd"]
    with pytest.raises(KeyError), ssptool.edit(path) as made:
        made.set("A.k", 3)
        raise KeyError
    assert snapshot(path) == before
    gc.collect()


def test_a_block_is_shown_as_what_it_is(tmp_path):
    block = ssptool.edit(nested(tmp_path / "s"))
    assert repr(block) == "<ssptool.edit(…): to be used as `with ssptool.edit(…) as system:`>"
    with block:
        pass
