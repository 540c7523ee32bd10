"""The paper's experiments, run again: a grid of cells, a runner, tables, figures and claims."""
