"""Words: findings in, sentences out."""
