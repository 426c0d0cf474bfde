"""What `quirk` does on the command line: one module for each command, imported when it is asked for."""
