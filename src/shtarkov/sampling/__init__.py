"""Chains that leave the law of the data, or its restriction to a level set, invariant."""
