"""What people read: report.md, the page, runs side by side, the pull request comment."""
