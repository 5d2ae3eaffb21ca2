"""Random numbers: streams, normals and the terms that each trajectory visits."""
