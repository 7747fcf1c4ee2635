import type { TenantMember } from "./assign.js";
import type { HeldTenant, TenantLease, WantedTenant } from "./lease.js";

/** Called by an ownership when the supervisor should look again. */
export interface OwnershipListener {
  /** Who is there has changed, or a tenant was given up for this process to go on with. */
  onChange(): void;
  /** How long this process may believe in its leases has become shorter. */
  onDoubt(): void;
  /** An operator asks this process to drain. */
  onDrainAsked(): void;
  /** Somebody else has its id. */
  onSuperseded(): void;
  load(): number;
}

/** A live process of the fleet, as the registry has it. */
export interface ActiveWorker {
  readonly id: string;
  readonly hostname: string | null;
  readonly pid: number | null;
  readonly region: string | null;
  readonly startedAt: Date;
  readonly lastHeartbeatAt: Date;
  readonly expiresInMs: number;
  readonly generation: number;
}

/** A worker's row, as far as its past is concerned. */
export interface Registration {
  readonly id: string;
  readonly generation: bigint;
  readonly starts: bigint;
}

/** Who is in the fleet, and who holds which tenant: rows for a fleet, memory for one process alone. */
export interface Ownership {
  readonly workerId: string;
  join(listener: OwnershipListener): Promise<void>;
  /** Gets no tenants any more, and keeps those it has. */
  leave(): Promise<void>;
  finish(isClean: boolean): Promise<void>;
  /** Those that take part, by their ids. */
  members(): readonly TenantMember[];
  /** Under which generation each worker known is registered, and how many processes have had its id. */
  registrations(): readonly Registration[];
  /** Members that have just settled and have not been lost for a while: what should run there moves at once. */
  joined(): ReadonlySet<string>;
  /** How long until the next member settles; Infinity when all have. */
  settlesInMs(): number;
  active(): Promise<readonly ActiveWorker[]>;
  /** How long this one has been there without a break. */
  aliveMs(): number;
  /** How long nobody can take what this process holds. */
  sureForMs(): number;
  /** All leases, or those named. */
  list(only?: readonly string[]): Promise<readonly TenantLease[]>;
  /** The tokens of those that were won. */
  win(wanted: readonly WantedTenant[]): Promise<ReadonlyMap<string, bigint>>;
  /** Says who is to go on with what is ending. */
  drain(held: readonly (HeldTenant & { readonly heir: string | null })[], limitMs: number): Promise<void>;
  /** They stay, under the token they have. */
  keep(held: readonly (HeldTenant & Pick<WantedTenant, "region" | "source">)[]): Promise<void>;
  /** What is held by this process by the rows, whatever it believes. */
  own(): Promise<readonly HeldTenant[]>;
  /** Gives up: others go on. */
  free(held: readonly HeldTenant[]): Promise<void>;
  /** Gives up: cold. */
  drop(held: readonly HeldTenant[]): Promise<void>;
  /** A task was done for a tenant, by whoever. */
  markDone(run: string, tenant: string): Promise<void>;
  doneOf(run: string, tenants: readonly string[]): Promise<ReadonlySet<string>>;
}
