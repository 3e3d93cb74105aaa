"""The report on a finished run: what is computed for it, what is drawn, and the page that shows it."""
