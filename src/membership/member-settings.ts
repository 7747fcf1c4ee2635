import { InvalidKeyError, InvalidOptionError } from "../errors.js";
import { defaults, wholeNumber } from "../settings.js";
import { isStorableText } from "../work/json.js";
import { checkedMetadata } from "./load.js";

/** What a user may say about this process as a worker. */
export interface MemberOptions {
  /** WORKER_ID, or hostname-pid. Two processes must never share one. */
  readonly workerId?: string | undefined;
  readonly region?: string | undefined;
  /** WORKER_LEASE_HEARTBEAT_MS, or 10 s. */
  readonly heartbeatMs?: number | undefined;
  /** WORKER_LEASE_TTL_MS, or 30 s; at least three heartbeats. */
  readonly ttlMs?: number | undefined;
  /** How long the list of live workers is used before it is read again; 8 s. Changes that are notified are read at once. */
  readonly ringCacheMs?: number | undefined;
  /** Yours, such as { version: "1.2.0" }: shown by lh.workers() and stored in the registry with each heartbeat. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface MemberSettings {
  readonly id: string;
  readonly hostname: string;
  readonly pid: number;
  readonly region: string | null;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly ringCacheMs: number;
  /** As JSON: an object. */
  readonly metadata: string;
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
  const { region } = options;
  if (region !== undefined && (typeof region !== "string" || region === "" || !isStorableText(region))) {
    throw new InvalidOptionError("region", region, "the name of a region");
  }
  const ringCacheMs = wholeNumber("ringCacheMs", options.ringCacheMs, {
    fallback: defaults.ringCacheMs,
    min: defaults.ringCacheMsMin,
    max: defaults.ringCacheMsMax,
  });
  const id = options.workerId ?? environment.workerId ?? `${environment.hostname}-${environment.pid}`;
  return Object.freeze({
    id: checkedWorkerId(id),
    hostname: environment.hostname,
    pid: environment.pid,
    region: options.region ?? null,
    heartbeatMs,
    ttlMs,
    ringCacheMs,
    metadata: checkedMetadata(options.metadata),
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
