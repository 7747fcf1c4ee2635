import { randomBytes } from "node:crypto";
import type { Random } from "../seams/random.js";

export const systemRandom: Random = Object.freeze({
  fraction: () => Math.random(),
  bytes: (count: number) => randomBytes(count),
});
