"""Detection of closed loops of constraints."""

from __future__ import annotations

from .model import Model


def has_loops(model: Model) -> bool:
    """Return whether constraints form closed loops; without loops the rows are independent at all poses.

    Two constraints between the same bodies also form a loop.
    """
    joined = {n: n for n in range(len(model.mass) + 1)}

    def root(n: int) -> int:
        while joined[n] != n:
            n = joined[n]
        return n

    for _, bodies in model.joint_bodies:
        roots = {root(int(n)) for n in bodies}
        if len(roots) < len(bodies):
            return True
        for n in roots:
            joined[n] = min(roots)
    return False
