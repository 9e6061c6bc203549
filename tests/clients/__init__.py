"""The real clients, installed from npm and run on this machine alone: they resume what `dragoman port` wrote."""
