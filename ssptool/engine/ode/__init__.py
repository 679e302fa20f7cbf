"""Model exchange: all components that only give derivatives, integrated as one ordinary differential equation."""
