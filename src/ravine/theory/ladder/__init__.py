"""The ladder of rates: from exact gradients to every finite sum in every order."""
