"""Questions about a system at a state: assembly, mobility, statics and small motions."""
