"""The way of an instance through initialization, as systems go it in C++."""


def enter_initialization(instance, start=0.0, stop=None, tolerance=None):
    """Set up the experiment [s] and enter initialization mode; FMI 1.0 has none and is initialized."""
    major = instance.description.fmi_major
    if major == 1:
        instance.call("initialize", start, stop)
    elif major == 2:
        instance.call("setupExperiment", tolerance, start, stop)
        instance.call("enterInitializationMode")
    else:
        instance.call("enterInitializationMode", tolerance, start, stop)
    instance.was_initialized(done=major == 1)


def exit_initialization(instance):
    if instance.description.fmi_major > 1:
        instance.call("exitInitializationMode")
    instance.was_initialized(done=True)
