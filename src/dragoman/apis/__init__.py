"""How a provider's wire carries calls: pure codecs, no I/O."""
