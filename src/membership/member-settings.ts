import { InvalidKeyError, InvalidOptionError } from "../errors.js";
import { defaults, wholeNumber } from "../settings.js";
import { isStorableText } from "../work/json.js";

/** What a user may say about this process as a worker. */
export interface MemberOptions {
  /** WORKER_ID, or hostname-pid. Two processes must never share one. */
  readonly workerId?: string | undefined;
  readonly region?: string;
  /** WORKER_LEASE_HEARTBEAT_MS, or 10 s. */
  readonly heartbeatMs?: number;
  /** WORKER_LEASE_TTL_MS, or 30 s; at least three heartbeats. */
  readonly ttlMs?: number;
}

export interface MemberSettings {
  readonly id: string;
  readonly hostname: string;
  readonly pid: number;
  readonly region: string | null;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  /** How often tenants are shared out anew, unless a supervisor says otherwise. */
  readonly tickMs: number;
}

export interface MemberSurroundings {
  readonly workerId: string | undefined;
  readonly heartbeatMs: string | undefined;
  readonly ttlMs: string | undefined;
  readonly tickMs?: string | undefined;
  readonly hostname: string;
  readonly pid: number;
}

/** Options win over the environment, the environment over the defaults. */
export function memberSettings(options: MemberOptions, environment: MemberSurroundings): MemberSettings {
  const heartbeatMs = wholeNumber(
    "heartbeatMs",
    options.heartbeatMs ?? fromText("WORKER_LEASE_HEARTBEAT_MS", environment.heartbeatMs),
    { fallback: defaults.heartbeatMs, min: 50, max: 3_600_000 },
  );
  const ttlMs = wholeNumber("ttlMs", options.ttlMs ?? fromText("WORKER_LEASE_TTL_MS", environment.ttlMs), {
    fallback: Math.max(defaults.ttlMs, defaults.ttlHeartbeatsMin * heartbeatMs),
    min: defaults.ttlHeartbeatsMin * heartbeatMs,
    max: 86_400_000,
  });
  const tickMs = checkedTickMs(fromText("WORKER_OWNERSHIP_TICK_MS", environment.tickMs));
  if (options.region !== undefined && (typeof options.region !== "string" || options.region === "")) {
    throw new InvalidOptionError("region", options.region, "the name of a region");
  }
  const id = options.workerId ?? environment.workerId ?? `${environment.hostname}-${environment.pid}`;
  return Object.freeze({
    id: checkedWorkerId(id),
    hostname: environment.hostname,
    pid: environment.pid,
    region: options.region ?? null,
    heartbeatMs,
    ttlMs,
    tickMs,
  });
}

export function checkedTickMs(tickMs: number | undefined, fallback: number = defaults.tenantTickMs): number {
  const { tenantTickMsMin: min, tenantTickMsMax: max } = defaults;
  return wholeNumber("tickMs", tickMs, { fallback, min, max });
}

export function checkedWorkerId(workerId: unknown): string {
  if (
    typeof workerId !== "string" ||
    workerId === "" ||
    Buffer.byteLength(workerId) > defaults.workerIdBytesMax ||
    !isStorableText(workerId)
  ) {
    throw new InvalidKeyError(
      "worker id",
      workerId,
      `it must be text of 1 to ${defaults.workerIdBytesMax} bytes`,
    );
  }
  return workerId;
}

function fromText(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new InvalidOptionError(name, text, "a whole number of milliseconds");
  return Number(text);
}
