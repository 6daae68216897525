"""Firing costs with entry and exit after Hopenhayn and Rogerson: model, distribution of firms, prices and result."""
