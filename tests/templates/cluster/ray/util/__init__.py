"""As in Ray: the folder of `scheduling_strategies`."""
