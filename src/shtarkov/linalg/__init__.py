"""Compiled linear algebra without statistics: factors kept up to date, solves, thresholds."""
