"""Commands of the `quirk` command line: one module for each command, imported when it is used.

The function `command(options)` of such a module runs the command with the parsed arguments.
"""
