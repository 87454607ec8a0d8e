"""Values from outside: readers by format, and binding to declared shapes."""
