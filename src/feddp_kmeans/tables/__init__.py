"""From CSV, Parquet, arrays and data frames to points and back: formats of files, cells, columns and the schema, the files of clients."""
