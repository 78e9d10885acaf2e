"""What simulations give: results, their tables, and what is to be said of them."""
