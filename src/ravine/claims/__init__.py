"""Every statement of the paper, measured and judged: one entry a statement, one an erratum."""
