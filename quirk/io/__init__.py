"""Reading and writing of files: models, imported models, results and checkpoints."""
