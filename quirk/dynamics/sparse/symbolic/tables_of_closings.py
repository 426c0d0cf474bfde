"""Tables of the constraints that close the loops of a forest of joints, for the recursion over this forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.dynamics.model.layout import CONSTANTS_SIZE, G_FORCE, G_I, G_J, G_SIZE, KINEMATICS_SIZE, Slots
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH, aligned

from ..kernels.closings import CARRIED_NUMBERS, CLOSING_ENTRIES, GROUP_ENTRIES, SIDE_NUMBERS, VISIT_ENTRIES, Closings
from ..kernels.recursion import BODY_CONSTANTS
from ..kernels.relations import SIDE_FORCE, SIDE_MOMENT, Relations
from .paths import ClosingPaths
from .placed_joint import PlacedJoint


def closings(
    model: Model, paths: ClosingPaths | None, slots: Slots, placed: Sequence[PlacedJoint | None],
    closing: Sequence[int], relations: Relations, effort: tuple[float, float],
) -> Closings:  # fmt: skip
    """Return the tables of the loop-closing constraints of a forest; they are empty if `paths` is None.

    Parameters
    ----------
    paths : paths from the bodies of these constraints to the roots of the forest
    placed : constraint rows of each node, None for hubs (bodies with many joints)
    closing : nodes of the loop-closing constraints, in the order of `paths`
    effort : estimated times of elimination of all rows, microseconds: factorization, and one solve
    """
    nodes = list(closing) if paths is not None else []
    groups: list[list[int]] = []
    entries: tuple[list[list[int]], ...] = ([], [], [])
    places: list[list[int]] = []  # for each row, the indices of its multiplier and of its work, -1 without work
    sizes, rows = np.zeros(5, dtype=np.int64), 0  # of matrix, reflections, along, carried, touched
    if paths is not None:
        joints = [joint for joint in (placed[node] for node in nodes) if joint is not None]
        nodes = [nodes[k] for group in paths.groups for k in group]
        for group in paths.groups:
            begin, first_row = [len(table) for table in entries], rows
            freedoms, columns_length = _visit(paths, group, entries[2])
            visit_of = {visit[0]: k for k, visit in enumerate(entries[2][begin[2] :])}
            reached: set[int] = set()
            for k in group:
                joint, node, first_side = joints[k], nodes[len(entries[0])], len(entries[1])
                entries[1].extend(_sides(joint, node, slots, relations, visit_of))
                reached |= set(paths.slots_of[k])
                reach = sum(paths.freedoms[slot] for slot in reached)
                entries[0].append([node, rows, first_side, len(entries[1]), reach])
                work = model.work_of_row[joint.rows].tolist()
                places.extend(
                    [WIDTH * node + k, w + slots.first_auxiliary if w >= 0 else -1] for k, w in enumerate(work)
                )
                rows += len(joint.rows)
            lanes = -(-(rows - first_row) // WIDTH) * WIDTH
            visits = len(entries[2]) - begin[2]
            groups.append([begin[0], len(entries[0]), begin[2], len(entries[2]), freedoms, *sizes.tolist(), first_row])
            groups[-1].append(columns_length)
            blocks = lanes // WIDTH
            sizes += [
                columns_length * lanes, freedoms * (rows - first_row), -(-freedoms // WIDTH) * WIDTH,
                visits * blocks * CARRIED_NUMBERS, visits * blocks,
            ]  # fmt: skip
    return Closings(
        nodes=np.array(nodes, dtype=np.int32),
        effort=np.array(effort),
        groups=np.array(groups, dtype=np.int32).reshape(-1, GROUP_ENTRIES).ravel(),
        closings=np.array(entries[0], dtype=np.int32).reshape(-1, CLOSING_ENTRIES).ravel(),
        sides=np.array(entries[1], dtype=np.int32).reshape(-1, SIDE_NUMBERS).ravel(),
        visits=np.array(entries[2], dtype=np.int32).reshape(-1, VISIT_ENTRIES).ravel(),
        works=np.array([place >= 0 for _, place in places], dtype=np.int32),
        working=np.array([pair for pair in places if pair[1] >= 0], dtype=np.int64).ravel(),
        lane=aligned(rows),
        norm=aligned(rows),
        shortest=aligned(rows),
        previous=aligned(rows),
        kept=aligned(len(groups)),
        matrix=aligned(int(sizes[0])),
        reflections=aligned(int(sizes[1])),
        along=aligned(int(sizes[2])),
        rest=aligned(rows),
        wrench=aligned(CARRIED_NUMBERS),
        carried=aligned(int(sizes[3])),
        touched=aligned(int(sizes[4])),
    )


def _visit(paths: ClosingPaths, group: Sequence[int], visits: list[list[int]]) -> tuple[int, int]:
    """Append the joints on the paths of a group of loop-closing constraints to `visits`, from the tips to the roots.

    An entry of `visits` consists of the slot of the body of the joint; the visit of its parent in this group, or -1 for
    the ground; and the index of its first degree of freedom. Degrees of freedom are numbered in the order in which the
    constraints reach them, so that the first columns of the matrix of the group have few nonzero elements. The indices
    of driven joints follow after those of all degrees of freedom. Returns the number of degrees of freedom, and the
    number of all indices.
    """
    row_of: dict[int, int] = {}
    count = 0
    for k in group:
        for slot in paths.slots_of[k]:
            if slot not in row_of:
                row_of[slot] = count
                count += paths.freedoms[slot]
    rows = count
    for slot in row_of:
        if paths.driven[slot]:
            row_of[slot] = rows
            rows += 1
    order = sorted(row_of)
    place = {slot: k for k, slot in enumerate(order)}
    visits.extend([slot, place.get(paths.up[slot], -1), row_of[slot]] for slot in order)
    return count, rows


def _sides(
    joint: PlacedJoint, node: int, slots: Slots, relations: Relations, visit_of: dict[int, int]
) -> list[list[int]]:
    """Return the table entries of one loop-closing constraint, for each of its bodies other than the ground.

    The entries are described in `kernels.closings`. `node` is the node of the constraint `joint`, and `visit_of` maps
    the slot of a body to the index of its visit, in the sequence of joints on the paths to the roots.
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
    """Return a copy of the tables with new arrays for the results of compiled code."""
    written = (
        "lane", "norm", "shortest", "previous", "kept", "matrix", "reflections", "along", "rest", "wrench",
        "carried", "touched",
    )  # fmt: skip
    arrays: dict[str, Any] = {name: aligned(len(getattr(tables, name))) for name in written}
    return tables._replace(**arrays)
