"""The search engine over one immutable artifact."""
