"""Arrays as calls take them: of a device, lent by the host, of other libraries."""
