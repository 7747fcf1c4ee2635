import { setTimeout as sleep } from "node:timers/promises";

export async function delay(ms: number): Promise<void> {
  await sleep(ms);
}

/** Looks every few milliseconds; false when the time was up first. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  { limitMs, everyMs = 5 }: { readonly limitMs: number; readonly everyMs?: number },
): Promise<boolean> {
  const endMs = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) return false;
    await sleep(everyMs);
  }
  return true;
}
