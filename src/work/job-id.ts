import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";

/** Two bits are fixed, two are chance. */
const variants = ["8", "9", "a", "b"];
const bytesAtOnce = 2_048;

/**
 * UUIDv7: 48 bits of milliseconds, a 12-bit counter, 62 random bits. The counter makes ids of one process rise in the order in
 * which they were made, also within a millisecond and when the clock steps back; where it overflows the time part is moved ahead.
 */
export function jobIds(clock: Clock, random: Random): () => string {
  let lastMs = 0;
  let counter = 0;
  let chance = "";
  let used = 0;
  // Asked for many at a time: a call for eight bytes costs as much as everything else here.
  const tail = (): string => {
    if (used >= chance.length) {
      chance = Buffer.from(random.bytes(bytesAtOnce)).toString("hex");
      used = 0;
    }
    used += 16;
    return chance.slice(used - 16, used);
  };
  return () => {
    const nowMs = clock.epochMs();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = 0;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    const time = lastMs.toString(16).padStart(12, "0");
    const hex = tail();
    const variant = variants[Number.parseInt(hex.charAt(0), 16) & 3] ?? "8";
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${variant}${hex.slice(1, 4)}-${hex.slice(4)}`;
  };
}
