"""Contact at one instant: complementarity, Coulomb friction, impacts, and distribution of loads among contacts."""
