"""Tables of the constraints that close the loops of a forest of joints: groups, paths and freedoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.dynamics.model.layout import CONSTANTS_SIZE, G_FORCE, G_I, G_J, G_SIZE, KINEMATICS_SIZE, Slots
from quirk.jit.simd import WIDTH, aligned

from ..kernels.closings import CARRIED_NUMBERS, CLOSING_ENTRIES, GROUP_ENTRIES, SIDE_NUMBERS, VISIT_ENTRIES, Closings
from ..kernels.recursion import BODY_CONSTANTS
from ..kernels.relations import SIDE_FORCE, SIDE_MOMENT, Relations
from .paths import ClosingPaths
from .placed_joint import PlacedJoint


def closings(
    paths: ClosingPaths | None, slots: Slots, placed: Sequence[PlacedJoint | None], closing: Sequence[int],
    relations: Relations, effort: tuple[float, float],
) -> Closings:  # fmt: skip
    """Return the tables of the closings of a forest with the given paths; empty if there are none.

    `placed` are the rows of each node, None for hubs, `closing` the nodes of the closings in the order of the paths,
    and `effort` is that of the elimination by rows, see `Closings`.
    """
    nodes = list(closing) if paths is not None else []
    groups: list[list[int]] = []
    entries: tuple[list[list[int]], ...] = ([], [], [])
    sizes, rows = np.zeros(5, dtype=np.int64), 0  # of matrix, reflections, along, carried, touched
    if paths is not None:
        joints = [joint for joint in (placed[node] for node in nodes) if joint is not None]
        nodes = [nodes[k] for group in paths.groups for k in group]
        for group in paths.groups:
            begin, first_row = [len(table) for table in entries], rows
            freedoms = _visit(paths, group, entries[2])
            visit_of = {visit[0]: k for k, visit in enumerate(entries[2][begin[2] :])}
            reached: set[int] = set()
            for k in group:
                joint, node, first_side = joints[k], nodes[len(entries[0])], len(entries[1])
                entries[1].extend(_sides(joint, node, slots, relations, visit_of))
                reached |= set(paths.slots_of[k])
                reach = sum(paths.freedoms[slot] for slot in reached)
                entries[0].append([node, rows, first_side, len(entries[1]), reach])
                rows += len(joint.rows)
            lanes = -(-(rows - first_row) // WIDTH) * WIDTH
            visits = len(entries[2]) - begin[2]
            groups.append([begin[0], len(entries[0]), begin[2], len(entries[2]), freedoms, *sizes.tolist(), first_row])
            blocks = lanes // WIDTH
            sizes += [
                freedoms * lanes, freedoms * (rows - first_row), -(-freedoms // WIDTH) * WIDTH,
                visits * blocks * CARRIED_NUMBERS, visits * blocks,
            ]  # fmt: skip
    return Closings(
        nodes=np.array(nodes, dtype=np.int32),
        effort=np.array(effort),
        groups=np.array(groups, dtype=np.int32).reshape(-1, GROUP_ENTRIES).ravel(),
        closings=np.array(entries[0], dtype=np.int32).reshape(-1, CLOSING_ENTRIES).ravel(),
        sides=np.array(entries[1], dtype=np.int32).reshape(-1, SIDE_NUMBERS).ravel(),
        visits=np.array(entries[2], dtype=np.int32).reshape(-1, VISIT_ENTRIES).ravel(),
        lane=aligned(rows),
        norm=aligned(rows),
        shortest=aligned(rows),
        previous=aligned(rows),
        kept=aligned(len(groups)),
        matrix=aligned(int(sizes[0])),
        reflections=aligned(int(sizes[1])),
        along=aligned(int(sizes[2])),
        wrench=aligned(CARRIED_NUMBERS),
        carried=aligned(int(sizes[3])),
        touched=aligned(int(sizes[4])),
    )


def _visit(paths: ClosingPaths, group: Sequence[int], visits: list[list[int]]) -> int:
    """Append the visits of a group of closings, from the tips to the roots; return the number of freedoms.

    The freedoms are numbered in the order in which the closings reach them, so that the first columns of the matrix
    have few elements.
    """
    row_of: dict[int, int] = {}
    count = 0
    for k in group:
        for slot in paths.slots_of[k]:
            if slot not in row_of:
                row_of[slot] = count
                count += paths.freedoms[slot]
    order = sorted(row_of)
    place = {slot: k for k, slot in enumerate(order)}
    visits.extend([slot, place.get(paths.up[slot], -1), row_of[slot]] for slot in order)
    return count


def _sides(
    joint: PlacedJoint, node: int, slots: Slots, relations: Relations, visit_of: dict[int, int]
) -> list[list[int]]:
    """Return the integers of the sides of a closing at bodies that are not the ground.

    `visit_of` gives the visit of the body in each slot.
    """
    if joint.relation is not None:
        loads = [(start + SIDE_FORCE, start + SIDE_MOMENT, 1) for start in relations.starts(joint.relation)]
    else:
        g = G_SIZE * node
        loads = [(g + G_FORCE, g + G_I, -1), (g + G_FORCE, g + G_J, 1)]
    sides = []
    for body, load in zip(joint.bodies, loads, strict=True):
        if body < slots.bodies:
            places = [slots.offset(body, size) for size in (KINEMATICS_SIZE, CONSTANTS_SIZE, BODY_CONSTANTS)]
            sides.append([*load, *places, visit_of[int(slots.slot[body])]])
    return sides


def new_closing_arrays(tables: Closings) -> Closings:
    """Return a copy of the tables, with new arrays for output of compiled code."""
    written = (
        "lane", "norm", "shortest", "previous", "kept", "matrix", "reflections", "along", "wrench", "carried",
        "touched",
    )  # fmt: skip
    arrays: dict[str, Any] = {name: aligned(len(getattr(tables, name))) for name in written}
    return tables._replace(**arrays)
