"""Finding wrong labels: twincl beside cleanlab, on real images and on embeddings of them."""
