"""HPBvalve, "Integrated Host-SSD Mapping Table Management for Improving User Experience of Smartphones" (FAST 2023)."""
