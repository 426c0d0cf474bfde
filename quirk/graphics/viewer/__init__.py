"""Motions to look at in a browser: what is drawn as surfaces and lines, and viser, which shows it."""
