// Every FMI function that may be called of an instance once that is made: its name, and the kinds of its arguments
// behind the instance. `In<double, 1>` has as many elements as argument 1 says, counted from 0.
//
// A message names a function by its place in this list, and both processes run the same build of it.

#define REFERENCES In<std::uint32_t, 1>, Value<std::size_t>
#define COUNT Value<std::size_t>
#define INT Value<std::int32_t>
#define REAL Value<double>
#define BOOL Value<bool>

#define TYPED_BEFORE_FMI3(prefix, name, type)          \
  FUNCTION(prefix##Set##name, REFERENCES, In<type, 1>) \
  FUNCTION(prefix##Get##name, REFERENCES, Out<type, 1>)
#define TYPED(name, type)                                 \
  FUNCTION(fmi3Set##name, REFERENCES, In<type, 3>, COUNT) \
  FUNCTION(fmi3Get##name, REFERENCES, Out<type, 3>, COUNT)

TYPED_BEFORE_FMI3(fmi, Real, double)
TYPED_BEFORE_FMI3(fmi, Integer, std::int32_t)
TYPED_BEFORE_FMI3(fmi, Boolean, char)
FUNCTION(fmiSetString, REFERENCES, InTexts<1>)
FUNCTION(fmiGetString, REFERENCES, OutTexts<1>)
FUNCTION(fmiSetDebugLogging, Value<char>)
FUNCTION(fmiInitializeSlave, REAL, Value<char>, REAL)
FUNCTION(fmiTerminateSlave)
FUNCTION(fmiResetSlave)
FUNCTION(fmiSetRealInputDerivatives, REFERENCES, In<std::int32_t, 1>, In<double, 1>)
FUNCTION(fmiGetRealOutputDerivatives, REFERENCES, In<std::int32_t, 1>, Out<double, 1>)
FUNCTION(fmiDoStep, REAL, REAL, Value<char>)
FUNCTION(fmiCancelStep)
FUNCTION(fmiGetStatus, INT, Out<std::int32_t>)
FUNCTION(fmiGetRealStatus, INT, Out<double>)
FUNCTION(fmiGetIntegerStatus, INT, Out<std::int32_t>)
FUNCTION(fmiGetBooleanStatus, INT, Out<char>)
FUNCTION(fmiGetStringStatus, INT, OutTexts<>)

TYPED_BEFORE_FMI3(fmi2, Real, double)
TYPED_BEFORE_FMI3(fmi2, Integer, std::int32_t)
TYPED_BEFORE_FMI3(fmi2, Boolean, std::int32_t)
FUNCTION(fmi2SetString, REFERENCES, InTexts<1>)
FUNCTION(fmi2GetString, REFERENCES, OutTexts<1>)
FUNCTION(fmi2SetDebugLogging, INT, COUNT, InTexts<1>)
FUNCTION(fmi2SetupExperiment, INT, REAL, REAL, INT, REAL)
FUNCTION(fmi2EnterInitializationMode)
FUNCTION(fmi2ExitInitializationMode)
FUNCTION(fmi2Terminate)
FUNCTION(fmi2Reset)
FUNCTION(fmi2GetFMUstate, Out<void*>)
FUNCTION(fmi2SetFMUstate, Value<void*>)
FUNCTION(fmi2FreeFMUstate, Out<void*>)
FUNCTION(fmi2SerializedFMUstateSize, Value<void*>, Out<std::size_t>)
FUNCTION(fmi2SerializeFMUstate, Value<void*>, Out<char, 2>, COUNT)
FUNCTION(fmi2DeSerializeFMUstate, In<char, 1>, COUNT, Out<void*>)
FUNCTION(fmi2GetDirectionalDerivative, REFERENCES, In<std::uint32_t, 3>, COUNT, In<double, 3>, Out<double, 1>)
FUNCTION(fmi2EnterEventMode)
FUNCTION(fmi2NewDiscreteStates, Out<EventInfo>)
FUNCTION(fmi2EnterContinuousTimeMode)
FUNCTION(fmi2CompletedIntegratorStep, INT, Out<std::int32_t>, Out<std::int32_t>)
FUNCTION(fmi2SetTime, REAL)
FUNCTION(fmi2SetContinuousStates, In<double, 1>, COUNT)
FUNCTION(fmi2GetDerivatives, Out<double, 1>, COUNT)
FUNCTION(fmi2GetEventIndicators, Out<double, 1>, COUNT)
FUNCTION(fmi2GetContinuousStates, Out<double, 1>, COUNT)
FUNCTION(fmi2GetNominalsOfContinuousStates, Out<double, 1>, COUNT)
FUNCTION(fmi2SetRealInputDerivatives, REFERENCES, In<std::int32_t, 1>, In<double, 1>)
FUNCTION(fmi2GetRealOutputDerivatives, REFERENCES, In<std::int32_t, 1>, Out<double, 1>)
FUNCTION(fmi2DoStep, REAL, REAL, INT)
FUNCTION(fmi2CancelStep)
FUNCTION(fmi2GetStatus, INT, Out<std::int32_t>)
FUNCTION(fmi2GetRealStatus, INT, Out<double>)
FUNCTION(fmi2GetIntegerStatus, INT, Out<std::int32_t>)
FUNCTION(fmi2GetBooleanStatus, INT, Out<std::int32_t>)
FUNCTION(fmi2GetStringStatus, INT, OutTexts<>)

TYPED(Float32, float)
TYPED(Float64, double)
TYPED(Int8, std::int8_t)
TYPED(UInt8, std::uint8_t)
TYPED(Int16, std::int16_t)
TYPED(UInt16, std::uint16_t)
TYPED(Int32, std::int32_t)
TYPED(UInt32, std::uint32_t)
TYPED(Int64, std::int64_t)
TYPED(UInt64, std::uint64_t)
TYPED(Boolean, bool)
FUNCTION(fmi3SetString, REFERENCES, InTexts<3>, COUNT)
FUNCTION(fmi3GetString, REFERENCES, OutTexts<3>, COUNT)
FUNCTION(fmi3SetBinary, REFERENCES, In<std::size_t, 4>, InBytes<4, 2>, COUNT)
FUNCTION(fmi3GetBinary, REFERENCES, Out<std::size_t, 4>, OutBytes<4, 2>, COUNT)
FUNCTION(fmi3SetClock, REFERENCES, In<bool, 1>)
FUNCTION(fmi3GetClock, REFERENCES, Out<bool, 1>)
FUNCTION(fmi3SetDebugLogging, BOOL, COUNT, InTexts<1>)
FUNCTION(fmi3EnterInitializationMode, BOOL, REAL, REAL, BOOL, REAL)
FUNCTION(fmi3ExitInitializationMode)
FUNCTION(fmi3EnterEventMode)
FUNCTION(fmi3Terminate)
FUNCTION(fmi3Reset)
FUNCTION(fmi3EnterConfigurationMode)
FUNCTION(fmi3ExitConfigurationMode)
FUNCTION(fmi3GetNumberOfVariableDependencies, Value<std::uint32_t>, Out<std::size_t>)
FUNCTION(fmi3GetVariableDependencies, Value<std::uint32_t>, Out<std::size_t, 5>, Out<std::uint32_t, 5>,
         Out<std::size_t, 5>, Out<std::int32_t, 5>, COUNT)
FUNCTION(fmi3GetFMUState, Out<void*>)
FUNCTION(fmi3SetFMUState, Value<void*>)
FUNCTION(fmi3FreeFMUState, Out<void*>)
FUNCTION(fmi3SerializedFMUStateSize, Value<void*>, Out<std::size_t>)
FUNCTION(fmi3SerializeFMUState, Value<void*>, Out<std::uint8_t, 2>, COUNT)
FUNCTION(fmi3DeserializeFMUState, In<std::uint8_t, 1>, COUNT, Out<void*>)
FUNCTION(fmi3GetDirectionalDerivative, REFERENCES, In<std::uint32_t, 3>, COUNT, In<double, 5>, COUNT, Out<double, 7>,
         COUNT)
FUNCTION(fmi3GetAdjointDerivative, REFERENCES, In<std::uint32_t, 3>, COUNT, In<double, 5>, COUNT, Out<double, 7>, COUNT)
FUNCTION(fmi3GetIntervalDecimal, REFERENCES, Out<double, 1>, Out<std::int32_t, 1>)
FUNCTION(fmi3GetIntervalFraction, REFERENCES, Out<std::uint64_t, 1>, Out<std::uint64_t, 1>, Out<std::int32_t, 1>)
FUNCTION(fmi3GetShiftDecimal, REFERENCES, Out<double, 1>)
FUNCTION(fmi3GetShiftFraction, REFERENCES, Out<std::uint64_t, 1>, Out<std::uint64_t, 1>)
FUNCTION(fmi3SetIntervalDecimal, REFERENCES, In<double, 1>)
FUNCTION(fmi3SetIntervalFraction, REFERENCES, In<std::uint64_t, 1>, In<std::uint64_t, 1>)
FUNCTION(fmi3SetShiftDecimal, REFERENCES, In<double, 1>)
FUNCTION(fmi3SetShiftFraction, REFERENCES, In<std::uint64_t, 1>, In<std::uint64_t, 1>)
FUNCTION(fmi3EvaluateDiscreteStates)
FUNCTION(fmi3UpdateDiscreteStates, Out<bool>, Out<bool>, Out<bool>, Out<bool>, Out<bool>, Out<double>)
FUNCTION(fmi3EnterContinuousTimeMode)
FUNCTION(fmi3CompletedIntegratorStep, BOOL, Out<bool>, Out<bool>)
FUNCTION(fmi3SetTime, REAL)
FUNCTION(fmi3SetContinuousStates, In<double, 1>, COUNT)
FUNCTION(fmi3GetContinuousStateDerivatives, Out<double, 1>, COUNT)
FUNCTION(fmi3GetEventIndicators, Out<double, 1>, COUNT)
FUNCTION(fmi3GetContinuousStates, Out<double, 1>, COUNT)
FUNCTION(fmi3GetNominalsOfContinuousStates, Out<double, 1>, COUNT)
FUNCTION(fmi3GetNumberOfEventIndicators, Out<std::size_t>)
FUNCTION(fmi3GetNumberOfContinuousStates, Out<std::size_t>)
FUNCTION(fmi3EnterStepMode)
FUNCTION(fmi3GetOutputDerivatives, REFERENCES, In<std::int32_t, 1>, Out<double, 4>, COUNT)
FUNCTION(fmi3DoStep, REAL, REAL, BOOL, Out<bool>, Out<bool>, Out<bool>, Out<double>)

#undef REFERENCES
#undef COUNT
#undef INT
#undef REAL
#undef BOOL
#undef TYPED_BEFORE_FMI3
#undef TYPED
