"""Search spaces: parameters, their encoding in the unit cube, candidate lists, contexts."""
