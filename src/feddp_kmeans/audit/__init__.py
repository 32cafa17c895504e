"""Everything that tries to refute the guarantee: real runs on the worst neighbours, and checks of every part that a run can reach."""
