/** The key under which the parser keeps the value of a flag: `--idempotency-key` has `idempotencyKey`. */
export function optionKey(flag: string): string {
  return flag.replace(/^--/, "").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
