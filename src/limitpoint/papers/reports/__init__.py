"""What experiments leave on disk: folders, pages, Markdown."""
