"""Contact at one state: complementarity, Coulomb friction, impacts, and distribution of loads among contacts."""
