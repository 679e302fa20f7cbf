"""Model exchange: all components that only provide derivatives, integrated as one ordinary differential equation."""
