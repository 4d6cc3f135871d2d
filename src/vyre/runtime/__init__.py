"""Acts on decisions: Kernel, dispatch, session, compile helper, tuner."""
