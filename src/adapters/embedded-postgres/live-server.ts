import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { askServer, type ServerAnswer } from "./ask-server.js";
import { systemErrorCode } from "./system-error-code.js";

export interface LiveServer extends ServerAnswer {
  readonly pid: number;
  readonly port: number;
}

/** The server that runs on a data folder now, if one does and it is really the server of that folder. */
export async function findLiveServer(dataPath: string): Promise<LiveServer | undefined> {
  const claim = await readServerClaim(dataPath);
  if (claim === undefined || !isProcessAlive(claim.pid)) return undefined;
  const answer = await askServer(claim.port, dataPath);
  return answer && { ...claim, ...answer };
}

export interface ServerClaim {
  readonly pid: number;
  readonly port: number;
}

/** What `postmaster.pid` says. The file outlives a crashed server, so it is a claim and no proof. */
export async function readServerClaim(dataPath: string): Promise<ServerClaim | undefined> {
  try {
    const lines = (await readFile(join(dataPath, "postmaster.pid"), "utf8")).split("\n");
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return Number.isInteger(pid) && pid > 0 && Number.isInteger(port) ? { pid, port } : undefined;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A process that we may not signal is alive too. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemErrorCode(error) === "EPERM";
  }
}
