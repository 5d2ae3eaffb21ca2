"""A given finite sum under a given sampling: growth and stationary moments."""
