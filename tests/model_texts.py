"""Systems of all kinds for model files, and how they are compared."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from force_builders import BUILDERS, SI
from force_builders import Place as Inertial
from mechanisms import closed_contact, closed_one_sided, closed_rim, closed_rope, closed_stop, random_body
from pairs import KINDS, pair
from planar_cases import CASES, system_of
from quirk.demos import DEMOS

import quirk

# Constraints at rest are made from others, by a run; and these need Python functions.
CLOSED = (closed_stop, closed_rope, closed_contact, closed_rim, closed_one_sided)


def of_pairs():
    """A system of two bodies with a constraint, for every kind of constraint."""
    return {f"pair-{kind.__name__}": lambda kind=kind: pair(kind, 1)[0] for kind in KINDS if kind not in CLOSED}


def of_planar_cases():
    """The same for planar constraints."""
    return {
        f"planar-{k}-{kind}": lambda kind=kind, given=given: system_of(kind, given)
        for k, (kind, given) in enumerate(CASES)
    }


def with_force(build):
    """Two bodies, a joint that turns and slides, and a force element."""
    rng = np.random.default_rng(3)
    one, two = random_body(rng, "a"), random_body(rng, "b")
    joint = quirk.Cylindrical("j", one, two, point=[0.1, 0, 0], axis=[0, 0.6, 0.8])
    return quirk.System([one, two, joint, build(one, two, joint, SI, Inertial())])


def of_forces():
    """A system for every variant of every force element."""
    return {
        f"force-{name}-{k}": lambda build=build: with_force(build)
        for name, builds in BUILDERS.items()
        for k, build in enumerate(builds)
    }


def of_demos():
    """The systems of the demos."""
    return {
        f"demo-{name}": lambda name=name: import_module(f"quirk.demos.{name.replace('-', '_')}").build()
        for name in DEMOS
    }


def assert_same(first, second, evaluate=True):
    """Both systems have the same parts and, bit by bit, the same state, rows and accelerations."""
    assert [part.name for part in first.bodies] == [part.name for part in second.bodies]
    start, again = first.initial_state(), second.initial_state()
    for a, b in zip(start.parts, again.parts, strict=True):
        assert a.tobytes() == b.tobytes()
    assert {k: v.tolist() for k, v in start.angles.items()} == {k: v.tolist() for k, v in again.angles.items()}
    assert first.configuration == second.configuration
    for a, b in zip(first.constraints, second.constraints, strict=True):
        assert (type(a), a.name, a.bodies[0].name) == (type(b), b.name, b.bodies[0].name)
        for key in ("origin", "rotation"):
            assert getattr(a.frame_j, key).tobytes() == getattr(b.frame_j, key).tobytes()
        assert [getattr(p, "numbers", ()) for p in a.primitives] == [getattr(p, "numbers", ()) for p in b.primitives]
    if not evaluate:
        return
    rows, rows_again = first.constraint_rows(start, 0.1), second.constraint_rows(again, 0.1)
    assert rows.labels == rows_again.labels
    for key in ("A", "b", "phi", "phi_dot"):
        assert getattr(rows, key).tobytes() == getattr(rows_again, key).tobytes()
    found = [each.acceleration(start, 0.1, solver="dense") for each in (first, second)]
    for key in ("linear", "angular"):
        assert getattr(found[0], key).tobytes() == getattr(found[1], key).tobytes()
