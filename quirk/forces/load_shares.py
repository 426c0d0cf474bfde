"""Loads that contacts and friction share, as functions of the multipliers of independent constraint rows.

Of the rows of contacts and friction that depend on each other, a run keeps a set of independent ones and leaves out the
others. The motion determines the multipliers of the kept rows if the others exert no force. The load that the rows
share is the distribution of minimum norm with the same effect on the motion. It is linear in the multipliers of the
kept rows, with weights that change as the bodies move relative to each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .element import ForceElement

# A constraint row on which the normal load of friction depends: name of the constraint, index of the row, and weights
# of its multiplier: in the normal force of a contact (1,), or, where contacts share loads, in the change of force and
# torque of a joint (6,), axes of body i.
LoadShare = tuple[str, int, tuple[float, ...]]


@dataclass(frozen=True)
class LeftOutRow:
    """A row of a contact, or of friction, that a run leaves out because it depends on rows that the run keeps.

    Attributes
    ----------
    name : name of the contact or friction element
    number : index of the gap or slip component
    slips : whether the row is that of a slip component
    side, part : side of the first surface on which the slip component is smooth, and part of a bounded surface
    law : force element with the loads of a unit force along the row
    """

    name: str
    number: int
    slips: bool
    side: int
    part: int
    law: ForceElement = field(compare=False)


@dataclass(frozen=True)
class SharedRows:
    """The rows of contacts and friction among which a run distributes shared loads, at each state.

    Attributes
    ----------
    kept : (h,) the rows that the run keeps, each as the name of a constraint and the index of its row
    left_out : (d,) the rows that the run leaves out
    compliance : (h + d + u,) relative compliances of the kept rows, followed by those of the rows left out and of the
        rows without load: of all distributions, the one with the smallest sum of compliances times squared multipliers
        is used
    unloaded : (u,) rows of closed contacts without load, which may be loaded again
    """

    kept: tuple[tuple[str, int], ...]
    left_out: tuple[LeftOutRow, ...]
    compliance: tuple[float, ...]
    unloaded: tuple[LeftOutRow, ...] = ()


@dataclass(frozen=True)
class ForcesOfRows:
    """Forces along rows that share loads, as linear functions of multipliers that are computed at each state.

    Attributes
    ----------
    rows : the rows that share loads
    places : (k,) index of the row of each force among the kept rows, followed by those left out and those without
        load; -1 for other forces, with constant weights
    factors : (k,) force, N, per unit multiplier of its row
    combinations : (d, f) multiplier of each row that is left out, in each of f redistributions of the load
    """

    rows: SharedRows
    places: tuple[int, ...]
    factors: tuple[float, ...]
    combinations: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class LoadShares:
    """The constraint rows on which the normal load of friction depends.

    Attributes
    ----------
    terms : rows with the weights of their multipliers, which are zero if they are computed at each state
    rows : the rows that share the load if the weights are computed at each state; None if the weights are constant
    row : index of the row of the contact among the kept rows, followed by those left out; -1 for the load of a joint
    """

    terms: tuple[LoadShare, ...] = ()
    rows: SharedRows | None = None
    row: int = -1

    def __bool__(self) -> bool:
        return bool(self.terms)
