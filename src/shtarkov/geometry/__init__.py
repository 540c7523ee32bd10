"""Level sets around a point: projections, volumes and pair volumes, each by several routes."""
