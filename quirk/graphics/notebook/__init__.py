"""What notebooks show of systems, reports and results: small tables and drawings as HTML."""
