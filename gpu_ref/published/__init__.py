"""Published programs and times, as they were printed, for comparison."""
