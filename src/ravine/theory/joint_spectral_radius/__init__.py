"""The joint spectral radius of a finite set of matrices, with its proof."""
