"""What people read: report.md, the page, comparisons of runs, the comment on a pull request."""
