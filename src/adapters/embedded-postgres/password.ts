import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemErrorCode } from "./system-error-code.js";

/** Beside the data, in a folder that only the server's account can read. */
const PASSWORD_FILE = "leasehold-password";
const PASSWORD_BYTES = 24;

export function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString("hex");
}

export function passwordPath(dataPath: string): string {
  return join(dataPath, PASSWORD_FILE);
}

/** Of the server's role postgres. Undefined for data that was made without one. */
export async function readPassword(dataPath: string): Promise<string | undefined> {
  try {
    return (await readFile(passwordPath(dataPath), "utf8")).trim();
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
