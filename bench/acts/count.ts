import { nowMs } from "../clock.js";
import { until } from "../wait.js";
import type { Acts } from "./act.js";

export const countUnfinished: Acts["countUnfinished"] = async ({ system }) => await system.countUnfinished();

export const untilEmpty: Acts["untilEmpty"] = async ({ system }, { limitMs }) =>
  (await until(async () => (await system.countUnfinished()) === 0, { limitMs })) ? nowMs() : null;
