"""How the installation is: for load balancers, admins and programs."""
