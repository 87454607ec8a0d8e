"""Problems into equivalent problems. What is added is auxiliary (its names hold `#`), so answers come back by name."""
