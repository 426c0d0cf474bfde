"""Commands of the `quirk` command line: one module for each command, imported on use.

The function `command(options)` of each module runs the command with the parsed arguments.
"""
