"""PyTorch modules drawn at random: torch.compile(backend="tessera") beside eager mode and Inductor."""
