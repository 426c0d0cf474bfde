"""Moving pictures of a result, drawn by matplotlib."""
