"""Order conditions of all tableaux, one for each rooted tree (Hairer, Norsett and Wanner, volume I, II.2)."""

from functools import cache
from math import prod

import numpy as np
import pytest
from quirk.integrators import TABLEAUX, Step

# Orders of dense output and of the methods behind the error estimates.
ORDERS = {"RK4": (3, ()), "RK45": (4, (4,)), "Tsit5": (4, (4,)), "DOP853": (7, (5, 3)), "Vern9": (9, (8,))}


def grown(tree):
    """All trees with one leaf more; a tree is the tuple of its branches."""
    yield tuple(sorted((*tree, ())))
    for i, branch in enumerate(tree):
        yield from (tuple(sorted((*tree[:i], larger, *tree[i + 1 :]))) for larger in grown(branch))


@cache
def trees(order):
    return {()} if order == 1 else {larger for tree in trees(order - 1) for larger in grown(tree)}


def nodes(tree):
    return 1 + sum(map(nodes, tree))


def density(tree):
    return nodes(tree) * prod(map(density, tree))


@pytest.mark.parametrize("tableau", TABLEAUX.values(), ids=TABLEAUX)
def test_orders_are_met_and_not_exceeded(tableau):
    s, n = tableau.stages, tableau.buffers
    A = np.zeros((n, n))
    A[:s, :s], A[s, :s], A[s + 1 :, : tableau.extra_a.shape[1]] = tableau.a, tableau.b, tableau.extra_a

    @cache
    def stages(tree):
        return prod((A @ stages(branch) for branch in tree), start=np.ones(n))

    def check(weights, order, value):
        miss = [max(abs(weights @ stages(t)[: len(weights)] - value(t)) for t in trees(k)) for k in range(1, order + 2)]
        assert max(miss[:-1]) < 1e-13 < 1e-8 < miss[-1]

    check(tableau.b, tableau.order, lambda tree: 1 / density(tree))
    dense_order, error_orders = ORDERS[tableau.name]
    for weights, order in zip(tableau.errors, error_orders, strict=True):
        check(weights, order, lambda tree: 0.0)
    # With the unit matrix for stages, the state within a step shows the weights of dense output.
    step = Step(None, 0.0, np.zeros(n), 1.0, A[s], tableau, np.eye(n), _complete=True)
    for theta in (0.1, 0.4, 0.75, 0.98):
        check(step.sample(theta), dense_order, lambda tree, theta=theta: theta ** nodes(tree) / density(tree))


def test_number_of_trees():
    assert [len(trees(order)) for order in range(1, 11)] == [1, 1, 2, 4, 9, 20, 48, 115, 286, 719]
