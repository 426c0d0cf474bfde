"""Slender rods on hinges: a pendulum, a chain, a closed loop. Lengths in m, masses in kg; gravity along -z."""

import numpy as np

import quirk

DOWN = (0, 0, -9.81)


def level_rod(name="rod", *, mass=1.0, length=1.0, thickness=0.05, **initial):
    """A rod along x and its hinge about y, which is on the ground at the origin, at the rod's end.

    Parameters
    ----------
    thickness : width of the rod's square section
    initial : options of `Body.box`, such as velocities

    Returns
    -------
    rod : Body, `name`
    hinge : Revolute, "hinge" for a rod called "rod", else "`name` hinge"
    """
    size = [length, thickness, thickness]
    rod = quirk.Body.box(name, mass, size, position=[length / 2, 0, 0], **initial)
    title = "hinge" if name == "rod" else f"{name} hinge"
    return rod, quirk.Revolute(title, quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])


def pendulum(*more, mass=1.0, length=1.0, thickness=0.05, **options):
    """A system of a level rod and its hinge, which swings from rest.

    Parameters
    ----------
    more : parts, or functions of rod and hinge that return one
    mass, length, thickness : as of `level_rod`
    options : of the system
    """
    rod, hinge = level_rod(mass=mass, length=length, thickness=thickness)
    parts = [part(rod, hinge) if callable(part) else part for part in more]
    return quirk.System([rod, hinge, *parts], **{"gravity": DOWN, **options})


def chain(names, *, mass=1.0, thickness=0.1, hinge="hinge {}"):
    """Level rods of 1 m that hang on each other on hinges about y, the first on the ground at the origin.

    Parameters
    ----------
    names : list of str
        Names of the rods, from the ground on.
    hinge : str
        Name of each hinge, with {} for the name of the rod that it carries.

    Returns
    -------
    rods, hinges : lists of Body and of Revolute
    """
    size = [1.0, thickness, thickness]
    rods = [quirk.Body.box(name, mass, size, position=[k + 0.5, 0, 0]) for k, name in enumerate(names)]
    carriers = [quirk.GROUND, *rods]
    hinges = [
        quirk.Revolute(hinge.format(rod.name), carriers[k], rod, point=[k, 0, 0], axis=[0, 1, 0])
        for k, rod in enumerate(rods)
    ]
    return rods, hinges


def closed_loop(points, names, hinges, *, axes=(0, 1, 0), mass=1.0, thickness=0.05):
    """Rods from each point to the next, on hinges with each other and, at both ends, with the ground.

    Parameters
    ----------
    points : (n + 1, 3) places of the hinges, in a plane y = constant
    names, hinges : names of the n rods and of the n + 1 hinges
    axes : (3,) or (n + 1, 3) axis of each hinge

    Returns
    -------
    rods, hinges : lists of Body and of Revolute
    """
    points = np.asarray(points, dtype=float)
    rods = []
    for name, start, end in zip(names, points[:-1], points[1:], strict=True):
        along = end - start
        half = -0.5 * np.arctan2(along[2], along[0])
        size = [np.linalg.norm(along), thickness, thickness]
        turned = [np.cos(half), 0, np.sin(half), 0]
        rods.append(quirk.Body.box(name, mass, size, position=(start + end) / 2, orientation=turned))
    ends = [quirk.GROUND, *rods, quirk.GROUND]
    return rods, [
        quirk.Revolute(name, *ends[k : k + 2], point=points[k], axis=axis)
        for k, (name, axis) in enumerate(zip(hinges, np.broadcast_to(axes, points.shape), strict=True))
    ]
