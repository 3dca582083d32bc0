"""Records -> table objects -> Markdown: pure, one module a published form, all of them named in `KINDS`."""
