"""Python scripts contained in FMUs, which define the slave class for each version of FMI."""

FMI_2 = '''"""FMU of QuIRK, which must be installed in the Python that runs it."""

from pythonfmu import DefaultExperiment, Fmi2Causality, Fmi2Slave, Real
from quirk.io.fmu.exported import Exported

# The library of pythonfmu 0.7 releases a reference to this namespace at each instantiation that it does not own.
HELD = [globals()]


class {name}(Exported, Fmi2Slave):
    variable, causality, experiment = Real, Fmi2Causality, DefaultExperiment

    def __init__(self, **arguments):
        super().__init__(**arguments)
        HELD.append(globals())
'''

FMI_3 = '''"""FMU of QuIRK, which must be installed in the Python that runs it."""

from pythonfmu3 import DefaultExperiment, Float64, Fmi3Causality, Fmi3Slave, Fmi3StepResult, Fmi3Variability
from quirk.io.fmu.exported import Exported


class {name}(Exported, Fmi3Slave):
    variable, causality, experiment = Float64, Fmi3Causality, DefaultExperiment

    def __init__(self, **arguments):
        super().__init__(**arguments)
        options = {{"causality": Fmi3Causality.independent, "variability": Fmi3Variability.continuous}}
        self.register_variable(Float64("time", getter=lambda: self.time, **options))

    def do_step(self, current_time, step_size):
        return Fmi3StepResult(terminateSimulation=not super().do_step(current_time, step_size))
'''
