"""Diagnostics of active sets; ESS and R-hat come from arviz-stats."""
