"""Machine code for force laws, relations and motions, and callbacks for functions that run in Python."""
