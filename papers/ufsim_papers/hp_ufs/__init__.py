"""HP-UFS, "Fully Harnessing the Performance Potential of DRAM-less Mobile Flash Storage" (MSST 2024)."""
