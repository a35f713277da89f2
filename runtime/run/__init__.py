"""What one run is: the plan that all its processes read, and the folder they write to."""
