"""Pages: fetching, the browser, and searching the web."""
