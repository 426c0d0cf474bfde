"""Several flat arrays stored in one, so that kernels pass fewer arguments.

Kernels pass each array as seven numbers at every call. Of n arrays in one, the first n + 1 elements are the starts of
the arrays and the end of the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.compiled import unfolded
from quirk.lanes import aligned


def pack(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return a flat array of floats, or of integers if all are, that holds copies of flat arrays."""
    ends = np.cumsum([len(arrays) + 1, *(a.size for a in arrays)])
    if all(a.dtype.kind == "i" for a in arrays):
        dtype = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
        return np.concatenate([ends, *arrays]).astype(dtype)
    flat = aligned(int(ends[-1]))
    flat[:] = np.concatenate([ends, *arrays])
    return flat


@unfolded
def part(flat: np.ndarray, k: int) -> np.ndarray:
    """Return array number k of those packed in `flat`, as a view."""
    return flat[int(flat[k]) : int(flat[k + 1])]
