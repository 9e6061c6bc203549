"""What every wire API is made of: the codec, server-sent events, partial JSON and the order of a conversation."""
