"""Many problems: workers, pools of processes, stored results."""
