"""Taylor coefficients of accelerations and multipliers, compiled."""
