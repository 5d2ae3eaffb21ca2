"""The best step size and momentum, and the reason for them."""
