"""The same kernels on a GPU. Nothing else imports numba.cuda."""
