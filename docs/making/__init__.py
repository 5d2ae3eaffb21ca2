"""What makes the site: formulas, pages from the code, pictures, and code blocks that run."""
