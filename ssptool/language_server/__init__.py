"""The language server: findings, fixes and names of SSP documents in editors, over the Language Server Protocol."""
