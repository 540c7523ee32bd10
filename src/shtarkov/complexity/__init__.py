"""One file per way to get ln C, each with its standard error."""
