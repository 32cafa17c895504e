"""Silos: where the points of one holder live, and how they are added up there. No noise and no k-means here."""
