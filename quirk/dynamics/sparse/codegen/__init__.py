"""Machine code of force laws, relations and motions, and calls of those that stay in Python."""
