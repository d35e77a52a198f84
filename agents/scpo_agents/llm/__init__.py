"""A causal language model as an agent: any of Hugging Face's, or a small one from scratch."""
