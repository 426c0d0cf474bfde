"""HTML representations for notebooks: small tables and drawings of systems, reports and results."""
