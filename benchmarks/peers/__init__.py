"""The other simulators: each module translates a `quirk.System` into its library's terms and times it there."""
