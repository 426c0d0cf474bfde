"""Results that leave Python: as labeled arrays, flat tables, and files from which they are read back."""
