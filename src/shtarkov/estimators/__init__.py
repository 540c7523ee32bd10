"""The scikit-learn surface; nothing numerical happens here."""
