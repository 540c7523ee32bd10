"""From complexities to a choice: codelengths, the grid of penalties, comparisons."""
