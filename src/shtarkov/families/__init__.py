"""One file per estimator: its problem, its penalty and how it is solved."""
