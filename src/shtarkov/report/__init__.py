"""The report as a page: one file with everything in it, for a browser, a phone or paper."""

from shtarkov.report.page import render_html, write_html

__all__ = ["render_html", "write_html"]
