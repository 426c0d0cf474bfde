"""Tables of the constraints that close the loops of a forest of joints, for the recursion over this forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk.dynamics.model.layout import CONSTANTS_SIZE, G_FORCE, G_I, G_J, G_SIZE, KINEMATICS_SIZE, Slots
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH, aligned

from ..kernels.closings import CLOSING_ENTRIES, GROUP_ENTRIES, SIDE_NUMBERS, VISIT_ENTRIES, WRENCH_NUMBERS, Closings
from ..kernels.recursion import BODY_CONSTANTS
from ..kernels.relations import SIDE_FORCE, SIDE_MOMENT, Relations
from .paths import ClosingPaths
from .placed_joint import PlacedJoint

# Arrays of `Closings` with an element for each constraint row.
OF_ROWS = "lane", "norm", "shortest", "previous", "rest"
# Arrays of `Closings` in which each group has elements of its own.
OF_GROUPS = "matrix", "reflections", "along", "wrenches", "touched"


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
    entries = _Entries()
    if paths is not None:
        joints = [(node, joint) for node, joint in ((node, placed[node]) for node in closing) if joint is not None]
        for group in paths.groups:
            entries.add_group(model, paths, slots, group, joints, relations)
    sizes = entries.sizes.tolist()
    return Closings(
        nodes=np.array([node for node, *_ in entries.closings], dtype=np.int32),
        effort=np.array(effort),
        groups=np.array(entries.groups, dtype=np.int32).reshape(-1, GROUP_ENTRIES).ravel(),
        closings=np.array(entries.closings, dtype=np.int32).reshape(-1, CLOSING_ENTRIES).ravel(),
        sides=np.array(entries.sides, dtype=np.int32).reshape(-1, SIDE_NUMBERS).ravel(),
        visits=np.array(entries.visits, dtype=np.int32).reshape(-1, VISIT_ENTRIES).ravel(),
        works=np.array([work >= 0 for _, work in entries.works], dtype=np.int32),
        working=np.array([pair for pair in entries.works if pair[1] >= 0], dtype=np.int64).ravel(),
        **{name: aligned(len(entries.works)) for name in OF_ROWS},
        kept=aligned(len(entries.groups)),
        wrench=aligned(WRENCH_NUMBERS),
        **{name: aligned(size) for name, size in zip(OF_GROUPS, sizes, strict=True)},
    )


@dataclass
class _Entries:
    """Entries of the tables of loop-closing constraints, collected group by group; see `kernels.closings`.

    Attributes
    ----------
    groups, closings, sides, visits : integers of each group, constraint, side of a constraint, and visit of a joint
    works : for each constraint row, the indices of its multiplier and of its work, -1 without work
    sizes : numbers of elements, in the arrays OF_GROUPS, of all groups
    """

    groups: list[list[int]] = field(default_factory=list)
    closings: list[list[int]] = field(default_factory=list)
    sides: list[list[int]] = field(default_factory=list)
    visits: list[list[int]] = field(default_factory=list)
    works: list[list[int]] = field(default_factory=list)
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(len(OF_GROUPS), dtype=np.int64))

    def add_group(
        self, model: Model, paths: ClosingPaths, slots: Slots, group: Sequence[int],
        joints: Sequence[tuple[int, PlacedJoint]], relations: Relations,
    ) -> None:  # fmt: skip
        """Add a group of constraints, whose paths to the roots have degrees of freedom in common.

        `group` are the indices of the constraints in `joints`, the node and the rows of each constraint.
        """
        first_closing, first_visit, first_row = len(self.closings), len(self.visits), len(self.works)
        freedoms, length = _visit(paths, group, self.visits)
        visit_of = {slot: k for k, (slot, *_) in enumerate(self.visits[first_visit:])}
        reached: set[int] = set()
        for k in group:
            (node, joint), first_side = joints[k], len(self.sides)
            self.sides.extend(_sides(joint, node, slots, relations, visit_of))
            reached |= set(paths.slots_of[k])
            reach = sum(paths.freedoms[slot] for slot in reached)
            self.closings.append([node, len(self.works), first_side, len(self.sides), reach])
            for row, work in enumerate(model.work_of_row[joint.rows].tolist()):
                self.works.append([WIDTH * node + row, slots.first_auxiliary + work if work >= 0 else -1])
        rows, visits = len(self.works) - first_row, len(self.visits) - first_visit
        self.groups.append([
            first_closing, len(self.closings), first_visit, len(self.visits), freedoms, *self.sizes.tolist(),
            first_row, length,
        ])  # fmt: skip
        blocks = -(-rows // WIDTH)
        self.sizes += [
            length * blocks * WIDTH, freedoms * rows, -(-freedoms // WIDTH) * WIDTH, visits * blocks * WRENCH_NUMBERS,
            visits * blocks,
        ]  # fmt: skip


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
    written = *OF_ROWS, *OF_GROUPS, "kept", "wrench"
    arrays: dict[str, Any] = {name: aligned(len(getattr(tables, name))) for name in written}
    return tables._replace(**arrays)
