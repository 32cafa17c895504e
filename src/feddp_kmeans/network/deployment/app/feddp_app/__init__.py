"""The Flower app: nothing of its own, all of it from the installed package."""
