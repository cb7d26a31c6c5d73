"""Forms that plan runs; other rooms may build their own on them. Forms write nothing."""
