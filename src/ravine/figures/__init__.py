"""Pictures for print: each file computes plain data first and draws it separately."""
