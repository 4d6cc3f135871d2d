"""The cold start on a processor whose invocations are lanes of its vectors."""
