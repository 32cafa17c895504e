"""What a person gets: result.json, centers.parquet and a page to read."""
