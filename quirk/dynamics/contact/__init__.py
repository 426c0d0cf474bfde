"""Contact at one state: complementarity, Coulomb's friction, impacts, and shares of loads."""
