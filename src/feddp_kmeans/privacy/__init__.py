"""Privacy: units, bounds, integer noise, mechanisms, accounting, plans. No k-means here, and no transport."""
