"""Accelerations of thin and light bodies over many mechanisms: ``python tests/scale_sweep.py`` prints the table of docs.

The default solver is compared with the dense one; where they differ by more than `ALLOWED`, 50 digits tell which is right.
"""

from __future__ import annotations

import sys

import high_precision
import numpy as np
from badly_scaled import FAMILIES, chain_of_wires, mechanism, thin_rods

ALLOWED = 1e-9  # of the largest acceleration
HALF_DECADES = 10.0 ** -np.arange(4.0, 13.5, 0.5)
KINDS = ("thin rods", *FAMILIES, "wires")


def drawn(seed, kind, moment, mass):
    """A random mechanism of one kind, of 3 to 6 bodies; rods and wires have ball joints, hinges and crosses."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    if kind == "thin rods":
        return thin_rods(rng, n, moment, closed=bool(rng.integers(2)))
    if kind == "wires":
        return chain_of_wires(rng, moment, mass, n)
    return mechanism(rng, kind, moment, mass, n)


def difference(system):
    """Largest error of linear and of angular accelerations over the largest of their kind."""
    state = system.initial_state()
    found, true = system.acceleration(state), system.acceleration(state, solver="dense")
    off = compared(found, (true.linear, true.angular))
    return off if off <= ALLOWED else compared(found, high_precision.solve(system, state)[:2])


def compared(accelerations, exact):
    """Largest differences to true linear and angular accelerations over the largest of these, or over 1."""
    pairs = zip((accelerations.linear, accelerations.angular), exact, strict=True)
    return max(float(np.abs(got - right).max() / max(np.abs(right).max(), 1.0)) for got, right in pairs)


def sweep(ratios, of_masses, count):
    """Yield for each ratio the errors of `count` mechanisms, largest first, as (error, seed, kind)."""
    for ratio in ratios:
        cases = [(k, KINDS[k % len(KINDS)]) for k in range(count)]
        if of_masses:  # thin rods all have one mass
            cases = [(k, kind if kind != "thin rods" else "chain") for k, kind in cases]
        scales = (1.0, ratio) if of_masses else (ratio, 1.0)
        yield sorted([(difference(drawn([k, of_masses], kind, *scales)), k, kind) for k, kind in cases], reverse=True)


def columns(errors):
    """Median and largest of errors, and how many are beyond what is allowed, as text."""
    sizes = [error for error, _, _ in errors]
    return f"{np.median(sizes):.0e} | {sizes[0]:.0e} | {sum(size > ALLOWED for size in sizes)}"


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    head = "median | largest | beyond 1e-9"
    print(f"| ratio | moments: {head} | masses: {head} |\n|{' --- |' * 7}")
    halves = (sweep(HALF_DECADES, of_masses, number) for of_masses in (False, True))
    for ratio, moments, masses in zip(HALF_DECADES, *halves, strict=True):
        print(f"| {ratio:.1e} | {columns(moments)} | {columns(masses)} |", flush=True)
