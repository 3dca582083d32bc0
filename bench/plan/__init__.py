"""From a selection of the matrix to the measurements of a run, in random order."""
