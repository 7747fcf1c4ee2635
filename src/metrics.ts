export {
  createMetrics,
  type MetricRegistry,
  type Metrics,
  type MetricsOptions,
} from "./metrics/create-metrics.js";
export { type Definition, definitions, type MetricName } from "./metrics/definitions.js";
export type { Family, Labels, Sample } from "./metrics/family.js";
export { healthHandler } from "./metrics/health-handler.js";
