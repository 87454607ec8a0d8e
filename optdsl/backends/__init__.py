"""Algorithms, one file each, in folders by area."""
