"""From CSV, Parquet, arrays and data frames to points and back."""
