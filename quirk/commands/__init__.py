"""Commands of the `quirk` command line; each command is a module, imported when it is used.

The function `command(options)` of each module runs the command with the parsed arguments.
"""
