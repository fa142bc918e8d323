"""The event log: codec, writer, reader, and importers of other tools' recordings."""
