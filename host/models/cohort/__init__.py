"""A cohort from its first year of work to its last year of life: model, paths by age and result."""
