"""What a solve returns, as text, files and labelled arrays."""
