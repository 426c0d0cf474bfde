"""Long studies: tests over many cases, of which a few run by default and all in continuous integration."""

import pytest


def study(cases, examples):
    """Parameters of a test: all cases, of which those after the first `examples` are marked `slow`.

    Parameters
    ----------
    cases : iterable of values, or of tuples for several parameters
    examples : int, or a set of cases
        Number of cases that run by default, or these cases themselves.
    """
    chosen = examples if isinstance(examples, (set, frozenset)) else None
    parameters = []
    for k, case in enumerate(cases):
        is_example = k < examples if chosen is None else case in chosen
        values = case if isinstance(case, tuple) else (case,)
        parameters.append(pytest.param(*values, marks=() if is_example else pytest.mark.slow))
    return parameters
