/** The `code` of a system error such as `EEXIST`, so that callers can tell the expected ones apart. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
