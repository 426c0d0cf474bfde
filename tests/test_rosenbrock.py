"""Stiff runs: the Rosenbrock method in the compiled march, with exact Jacobians."""

import numpy as np
import pytest
from mechanisms import random_system
from references import NAMES, load_reference

import quirk
from quirk.integrators import RODAS5P


def test_order_is_five():
    system = random_system(np.random.default_rng(3), bodies=3, loops=0)
    exact = quirk.simulate(system, 0.5, rtol=1e-13, atol=1e-15, output=[0.5]).state_at(-1).pack()
    errors = []
    for steps in (20, 40, 80):
        run = quirk.simulate(system, 0.5, method="Rodas5P", step=0.5 / steps, output=[0.5])
        errors.append(np.abs(run.state_at(-1).pack() - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 5) < 0.5).all(), (errors, orders)
