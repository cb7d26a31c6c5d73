"""Health checks for load balancers, admins and programs."""
