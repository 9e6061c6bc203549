"""The recorded path: sessions of coding agents as one typed history."""
