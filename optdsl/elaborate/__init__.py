"""From the syntax tree to the typed problem: names resolved, data bound, shapes and kinds checked."""
