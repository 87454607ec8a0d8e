"""From text to a syntax tree: sources and spans, the parser, the tree, diagnostics."""
