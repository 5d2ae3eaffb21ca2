"""The joint spectral radius of a finite set of matrices, with a proof."""

from ravine.theory.joint_spectral_radius.radius import JointSpectralRadius, joint_spectral_radius

__all__ = ["JointSpectralRadius", "joint_spectral_radius"]
