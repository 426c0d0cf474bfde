"""Input and output: model files, imported models, results and checkpoints."""
