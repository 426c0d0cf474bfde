"""The commands of the `quirk` command line, one module each, imported on demand."""
