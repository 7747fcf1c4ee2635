import { expect } from "vitest";
import { isFull } from "./length.js";

/**
 * Prints figures of time. Only in the full proof (LEASEHOLD_TEST_LENGTH=full), which is for a machine with nothing else to do, are they
 * held against their limits: elsewhere a verdict must not depend on how fast the machine is.
 */
export function report<F extends object>(
  what: string,
  figures: F,
  limits: { readonly [K in keyof F]?: number } = {},
): void {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
  if (!isFull) return;
  for (const [name, limit] of Object.entries(limits))
    expect(figures[name as keyof F], `${what}, ${name}`).toBeLessThan(limit as number);
}
