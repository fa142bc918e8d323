"""What the user wrote becomes a Suite: YAML with file:line errors, the decorator, lint."""
