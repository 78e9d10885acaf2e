"""ufsim beside MQSim: what separates both on the same device, derived and measured."""
