export { type Instrumentation, type InstrumentOptions, instrument } from "./telemetry/instrument.js";
export type { MeterProvider } from "./telemetry/meter-api.js";
export type { OpenTelemetryApi, TracerProvider } from "./telemetry/trace-api.js";
