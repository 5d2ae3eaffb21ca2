"""Closed forms and searches against brute force, and their speed."""
