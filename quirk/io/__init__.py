"""Files: models, imported models, results and checkpoints."""
