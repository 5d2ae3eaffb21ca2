"""The reproduction of the paper: which figures and claims, carrying them out, their page."""
