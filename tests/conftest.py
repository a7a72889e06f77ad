from hypothesis import settings

# The machine may be slow and busy: a test fails for what it finds, never for how long it took.
settings.register_profile("dpforest", deadline=None)
settings.load_profile("dpforest")
