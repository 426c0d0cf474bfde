"""Export of results as labeled arrays and flat tables, and files from which results are loaded."""
