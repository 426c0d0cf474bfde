"""The browser viewer: surfaces and lines of a scene, and its display by viser."""
