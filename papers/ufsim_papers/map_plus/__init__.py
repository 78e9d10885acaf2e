"""MAP+, "An I/O Scheduling Strategy for Embedded Flash Storage Devices With Mapping Cache" (TCAD 2018)."""
