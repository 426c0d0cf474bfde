"""How a run changes with its start and with parameters: derivatives of states, loads and outputs along it."""
