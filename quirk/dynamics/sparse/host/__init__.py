"""What Python asks of the compiled solver."""
