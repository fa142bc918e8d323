"""Other tools' files -> Recordings: one file a format."""
