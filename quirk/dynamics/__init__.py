"""The equations of motion: what both sides share, the dense reference, and the compiled solver."""
