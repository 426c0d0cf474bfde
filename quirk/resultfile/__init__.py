"""Results that leave Python: as labelled arrays, flat tables, and files from which they are read back."""
