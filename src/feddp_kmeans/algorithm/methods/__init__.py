"""Methods: what is released, and what the server makes of it."""
