"""From a system to a result: runs over events and contacts, prescribed motions, and sensitivities."""
