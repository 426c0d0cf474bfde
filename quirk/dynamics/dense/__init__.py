"""The dense reference, readable beside the papers."""
