"""Machine code of force laws, relations and motions, and callbacks for functions that run in Python."""
