"""Impacts and rest of frictionless contacts, at one state; c is the number of closed gaps."""

from __future__ import annotations

import numpy as np

from quirk.analysis.contact.gap_functions import Gaps, Opening
from quirk.dynamics.contact.impulse import impulses, with_change
from quirk.dynamics.contact.lcp import INDEPENDENT, completed, pushes
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError

from .contact_speeds import strongest
from .contact_states import CLOSED, ROUND_OFF, WEAK, ContactState, Struck, opens

# Number of reductions of restitution if an impact would gain energy.
PARTS = 10


class Frictionless:
    """Solver for impacts and loads of frictionless contacts.

    Parameters
    ----------
    gaps : gaps of a system
    restitution : coefficient of restitution of each gap of the system
    units : (c,) characteristic size of each gap of the system: 1 rad for angles, the length of the system (m) for
        distances
    """

    def __init__(self, gaps: Gaps, restitution: np.ndarray, units: np.ndarray) -> None:
        self._gaps, self._restitution, self._units = gaps, restitution, units

    def impact(
        self,
        t: float,
        y: np.ndarray,
        closed: list[int],
        opening: Opening,
        W: np.ndarray,
        speeds: tuple[np.ndarray, np.ndarray, np.ndarray],
        solver: Solver,
    ) -> Struck:
        """Return the outcome of simultaneous impacts at c closed gaps, with the rates (c,) of these gaps.

        `closed` are the indices of the closed gaps, `opening` contains their values and rates, and W (c, c) is the jump
        of each rate due to a unit impulse at each gap. `speeds`, (c,) each, are the limits of rebound, of separation
        and of approach; see `Speeds`. Coefficients of restitution are reduced by a common factor so that no energy is
        gained.
        """
        rates, (limits, at_rest, noise) = opening.rate, speeds
        if not (rates < -noise).any():
            return Struck(y, {}, rates)
        x, wanted, kept = _bounced(W, rates, np.where(rates < -limits, self._restitution[closed], 0.0))
        if x is None:
            raise SwitchingError(
                f"no impulses prevent interpenetration at all of these contacts: {self._listed(closed)}"
            )
        held, after = x > 0, rates + W @ x
        # Contacts that separate more slowly than the limit of rest stay closed.
        slow = (after > noise) & (after <= at_rest)
        if slow.any():
            held, wanted = held | slow, np.where(slow, 0.0, wanted)
            x = np.zeros_like(x)
            x[held] = _solved(W, held, wanted - rates)
        lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
        change, _ = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, opening.push))
        # Correct once more for round-off.
        x[held] += _solved(W, held, wanted - rates - opening.changed(change))
        change, multipliers = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, opening.push))
        impulse = impulses(solver, y, multipliers) if solver.model.rows else {}
        impulse.update(self._gaps.impulses(y, opening, closed, x))
        return Struck(with_change(y, change), impulse, rates + opening.changed(change), kept)

    def at_rest(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        closed: list[int],
        W: np.ndarray,
        solver: Solver,
        parting: np.ndarray,
    ) -> ContactState:
        """Return the contact state at rest: the contacts that stay closed, and those of them that carry a load.

        Contacts whose gaps accelerate by no more than the round-off of the bodies' accelerations stay closed without
        load, except those in `parting`. Loaded contacts get constraint rows; if there are any, so do closed contacts
        without load that are not in `parting`.

        Parameters
        ----------
        t, y : time, s, and state vector
        angles : (K, 3) 1-2-3 angles of K joints, rad
        closed : indices of the c closed gaps
        W : (c, c) accelerations of the gaps due to unit forces along them
        solver : solver with the bilateral constraints
        parting : mask (c,) of the contacts whose load has just fallen to zero
        """
        if not closed:
            return ContactState()
        rates = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        accelerations = self._gaps.accelerations(t, y, angles, closed, rates)
        scale = strongest(solver.model, y, rates) * self._units[closed] / solver.model.length
        accelerations[(np.abs(accelerations) <= ROUND_OFF * scale) & ~parting] = 0.0
        x = pushes(W, accelerations)
        if x is None:
            raise SwitchingError(f"no loads prevent interpenetration at all of these contacts: {self._listed(closed)}")
        staying = accelerations + W @ x <= CLOSED * np.abs(accelerations).max()
        # Without loaded contacts there is no load to distribute.
        held = completed(W, x > 0, staying & ~parting) if (x > 0).any() else np.zeros(len(x), dtype=bool)
        touches = [self._gaps.touches[c] for c in closed]
        pushing: dict[str, tuple[int, float]] = {}
        for c in np.flatnonzero(held):
            largest = max(x.max(), WEAK * scale[c] / W[c, c])
            pushing[touches[c].constraint.name] = self._gaps.row_of(touches[c]), opens(x[c], largest)
        return ContactState(pushing, frozenset(touches[c].key for c in np.flatnonzero(staying & ~held)))

    def _listed(self, closed: list[int]) -> str:
        return ", ".join(f"{self._gaps.touches[c].constraint}" for c in closed)


def response(opening: Opening, solver: Solver, t: float, y: np.ndarray) -> np.ndarray:
    """Return W (c, c): the jumps of the rates of c gaps due to a unit impulse at each of them.

    `opening` contains the force directions of the gaps.
    """
    lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
    W = np.array([opening.changed(solver.respond(lanes, t, none, push)[0]) for push in opening.push])
    return 0.5 * (W + W.T)


def _bounced(W: np.ndarray, rates: np.ndarray, e: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, float]:
    """Return the impulses (c,) by Newton's law, the rates (c,) after them, and a factor on coefficients of restitution.

    The factor reduces the coefficients of restitution `e` (c,) so that no energy is gained. The impulses are None if
    interpenetration cannot be prevented. `W` (c, c) is the jump of each rate due to a unit impulse at each gap, and
    `rates` (c,) are the rates before.
    """
    for part in np.linspace(1.0, 0.0, PARTS + 1):
        wanted = -part * e * np.minimum(rates, 0.0)
        x = pushes(W, rates - wanted)
        if x is None:
            continue
        gained = x @ (rates + 0.5 * W @ x)
        if part == 0.0 or gained <= ROUND_OFF * float(np.abs(x) @ np.abs(rates)):
            return x, wanted, float(part) if e.any() else 1.0
    return None, rates, 1.0


def _solved(W: np.ndarray, held: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the least-norm impulses of the contacts in the mask `held` that change their rates as required.

    `rates` (c,) are the required changes of the rates. `W` (c, c) is the jump of each rate due to a unit impulse at
    each contact.
    """
    if held.sum() == 1:
        return np.asarray(rates[held] / W[held][:, held].ravel())
    return np.asarray(np.linalg.lstsq(W[np.ix_(held, held)], rates[held], rcond=INDEPENDENT)[0])
