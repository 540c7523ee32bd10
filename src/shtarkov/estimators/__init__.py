"""The scikit-learn surface: regressors whose penalty is chosen by codelength; nothing numerical."""
