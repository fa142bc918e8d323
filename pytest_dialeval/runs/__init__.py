"""A run on disk: the files are the truth."""
