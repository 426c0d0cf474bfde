"""State variations along the steps of implicit methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.integrators import RADAU_IIA9, IntegrationError
from quirk.jit.simd import WIDTH, aligned

from ..solver.solver import Solver
from ..stepping.methods import RadauStepper
from ..stepping.rotating_axes import TURNED
from ..stepping.run_state import PIECE_SIZE, Clock, Counts, Settings
from ..tangent.tangent import Differential
from .collocation import CONVERGENCE, ImplicitVariation
from .radau import vary_along_radau

# Reason of derivatives that are not finite, for errors.
UNDEFINED = (
    "a load may have no derivative there, such as a function of a body's speed, or of another square root, at zero: "
    "let it depend on the square, or on the root of the square plus a small number"
)


class ImplicitPropagator:
    """Propagation of state variations along the steps of a run of any implicit method, by collocation.

    Attributes
    ----------
    stages : number of evaluations per step, for an estimate of the cost
    estimates_error : whether the method estimates the error of the variations
    """

    def __init__(self, solver: Solver, differential: Differential, settings: Settings) -> None:
        self._solver, self._differential, self._settings = solver, differential, settings
        self._stepper = RadauStepper(solver, RADAU_IIA9)
        self.stages, self.estimates_error = 2 * RADAU_IIA9.points, True

    def new_data(self, common: dict[str, Any]) -> ImplicitVariation:
        """Return new arrays for the variations of a run; `common` are the fields shared with `ExplicitVariation`."""
        solver, size, of_all = self._solver, self._solver.size, common["directions"] * self._solver.size
        self._stepper.record.step_data.fill(np.nan)
        return ImplicitVariation(
            failed=np.full(1, np.nan),
            y=aligned(size),
            clock=Clock(),
            counts=Counts(),
            pieces=np.zeros(PIECE_SIZE),
            slope=aligned(size),
            rotating_state=aligned(size),
            base=aligned(of_all),
            z=aligned(RADAU_IIA9.points * of_all),
            f=aligned(RADAU_IIA9.points * of_all),
            rates=aligned(of_all),
            convergence=np.zeros(CONVERGENCE * WIDTH),
            turned=aligned(TURNED * (solver.slots.lanes // 8)),
            **common,
        )

    def propagate(self, variation: Any, first: int, last: int) -> None:
        """Propagate the state variations over the steps `first` to `last` - 1.

        Raises
        ------
        IntegrationError
            If Newton's iterations of a step do not converge.
        """
        tangents, stepper = self._differential.tangents, self._stepper.record
        vary_along_radau(self._solver.mechanism, tangents, stepper, self._settings, variation, first, last)
        if np.isfinite(variation.failed[0]):
            t = float(variation.failed[0])
            raise IntegrationError(f"the iterations for the derivatives of a step do not converge; {UNDEFINED}", t)
