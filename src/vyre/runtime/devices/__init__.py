"""Devices: finding and opening them, and what runs on one."""
