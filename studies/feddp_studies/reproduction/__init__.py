"""The paper's figures and tables, made by this code. Costs are computed from all client points: NON-PRIVATE checks of private results."""
