import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";

/**
 * UUIDv7: 48 bits of milliseconds, a 12-bit counter, 62 random bits. The counter makes ids of one process rise in the order in
 * which they were made, also within a millisecond and when the clock steps back; where it overflows the time part is moved ahead.
 */
export function jobIds(clock: Clock, random: Random): () => string {
  let lastMs = 0;
  let counter = 0;
  return () => {
    const nowMs = clock.epochMs();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = 0;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    const tail = Buffer.from(random.bytes(8));
    tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80;
    const time = lastMs.toString(16).padStart(12, "0");
    const hex = tail.toString("hex");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${hex.slice(0, 4)}-${hex.slice(4)}`;
  };
}
