"""MSFTL, "Exploiting Exclusive Higher Resolution to Enhance Response Time of Embedded Flash Storage" (2020)."""
