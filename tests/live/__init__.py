"""The same agent on every provider whose key is set: `make live`. It costs money, and is never part of CI."""
