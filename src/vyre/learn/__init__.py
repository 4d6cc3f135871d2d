"""Learning beside the calls, of anything that launches: subject, site, desk, learner, recorder."""
