"""Problems whose results others have printed: each a mechanism, what is printed of it, and how QuIRK's run compares."""
