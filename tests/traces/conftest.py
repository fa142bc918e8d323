from hypothesis import settings

# Examples share the machine with other work: how long one takes says nothing.
settings.register_profile("traces", deadline=None)
settings.load_profile("traces")
