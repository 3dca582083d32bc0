"""What people read: report.md, the page, comparisons of runs, the pull request comment."""
