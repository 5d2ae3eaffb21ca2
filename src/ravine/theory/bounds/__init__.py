"""Error envelopes over the steps of a run: what each theorem and corollary promises."""
