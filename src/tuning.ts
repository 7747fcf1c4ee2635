export { chart } from "./tuning/chart.js";
export type { Warning, WarningCode } from "./tuning/check.js";
export type { Cluster, Workload } from "./tuning/inputs.js";
export type { Limit } from "./tuning/limits.js";
export {
  type LagFigures,
  type LagSlice,
  type Prediction,
  type PredictOptions,
  predict,
} from "./tuning/predict.js";
export { check, type Recommendation, recommend } from "./tuning/recommend.js";
export type { TunedOptions, TuningRow } from "./tuning/table.js";
export type { Setting, TuningSettings } from "./tuning/tuning-settings.js";
