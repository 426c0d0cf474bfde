"""Numbers that Python and compiled code share."""

import copy
import pickle

import numpy as np
import pytest

from quirk.dynamics.sparse.stepping import run_state


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("name", ["Clock", "Counts"])
def test_copies_have_numbers_of_their_own(name, copied):
    one = getattr(run_state, name)()
    one.array[:] = np.arange(1, len(one.array) + 1)
    other = copied(one)
    np.testing.assert_array_equal(other.array, one.array)
    assert type(other) is type(one) and other.address != one.address
    other.fill(7)
    assert one.array[0] == 1
