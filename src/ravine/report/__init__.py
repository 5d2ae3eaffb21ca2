"""Self-contained pages of results: text, tables and pictures in one HTML file."""
