"""The best step size and momentum, with reasons and guarantees."""
