"""Commands and their children: run to an end, watched over, never left behind."""
