import { type AssignedTenant, assign, type TenantMember } from "./assign.js";
import type { HeldTenant, TenantLease, WantedTenant } from "./lease.js";
import type { TenantSource } from "./tenant.js";

/** Everything that one tick knows. */
export interface TickView {
  readonly workerId: string;
  readonly members: readonly TenantMember[];
  readonly leases: readonly TenantLease[];
  /** What should be hot by hot() and the policy. */
  readonly hot: ReadonlyMap<string, { readonly region: string | null; readonly source: TenantSource }>;
  /** False while `hot` has never been read: then nothing counts as cold. */
  readonly isHotKnown: boolean;
  /** Hot by promotion or policy, and idle for too long: whoever runs it ends it. */
  isIdle(tenant: string): boolean;
  /** What runs here and is not ending, with its token. */
  readonly running: ReadonlyMap<string, bigint>;
  /** What this process has in hand in another way, such as ending it: not to be won now. */
  isBusy(tenant: string): boolean;
}

export interface Decisions {
  /** To win and start. */
  readonly win: readonly WantedTenant[];
  /** Run here, and should run there. */
  readonly move: ReadonlyMap<string, string>;
  /** Run here and may stay. */
  readonly stay: readonly string[];
  /** Of these, what the row says otherwise: that it drains, or why it is hot. */
  readonly keep: readonly (HeldTenant & Pick<WantedTenant, "region" | "source">)[];
  /** Run here and are cold. */
  readonly cool: readonly string[];
  /** Run here under a lease that is not ours any more. */
  readonly lost: readonly string[];
  /** Leases of ours that nothing runs under, for others to go on with. */
  readonly release: readonly HeldTenant[];
  /** What an earlier process of our id had, and somebody else is to go on with. */
  readonly passOn: readonly (WantedTenant & { readonly heir: string })[];
  /** Rows that nobody needs; the first member tidies them up. */
  readonly tidy: readonly HeldTenant[];
  /** Hot tenants that nobody runs for now. */
  readonly waiting: number;
  readonly targets: ReadonlyMap<string, string>;
  /** By tenant. */
  readonly leases: ReadonlyMap<string, TenantLease>;
}

/** What a tick has to do. Pure. */
export function decide(view: TickView): Decisions {
  const { workerId, running } = view;
  const leases = new Map<string, TenantLease>();
  for (const lease of view.leases) leases.set(lease.tenant, lease);
  const members = new Set(view.members.map(({ id }) => id));
  const hot = hotTenants(view, leases, members);
  const targets = assign(hot, view.members);
  const win: WantedTenant[] = [];
  const release: HeldTenant[] = [];
  const passOn: (WantedTenant & { readonly heir: string })[] = [];
  let waiting = 0;
  for (const { tenant, region } of hot) {
    const lease = leases.get(tenant);
    if (running.has(tenant) || !isOpen(lease, workerId, members)) continue;
    waiting++;
    const isFree = lease === undefined || lease.owner === null || lease.isMine || lease.isLost;
    const target = targets.get(tenant);
    if (target !== workerId) {
      if (lease?.isMine === true && !view.isBusy(tenant)) release.push(heldOf(lease));
      // Only this process looks after what its predecessor had: for all others, a member of its name has it.
      else if (lease?.owner === workerId && !lease.isMine && lease.isLost && target !== undefined)
        passOn.push({ tenant, seen: BigInt(lease.token), region, source: lease.source, heir: target });
    } else if (isFree && !view.isBusy(tenant)) {
      win.push({ tenant, seen: BigInt(lease?.token ?? 0), region, source: sourceOf(tenant, lease, view) });
    }
  }
  return {
    win,
    release,
    passOn,
    waiting,
    targets,
    leases,
    ...decideRunning(view, leases, targets),
    tidy: tidy(view),
  };
}

/** True when nobody runs it who is a member and goes on with it. */
function isOpen(lease: TenantLease | undefined, workerId: string, members: ReadonlySet<string>): boolean {
  if (lease === undefined || lease.state !== "running" || lease.isLost || lease.source === "task")
    return true;
  // Under our id but not running here, it is an earlier process's, or left over from a win that was not answered.
  return lease.owner === null || lease.owner === workerId || !members.has(lease.owner);
}

function decideRunning(
  view: TickView,
  leases: ReadonlyMap<string, TenantLease>,
  targets: ReadonlyMap<string, string>,
): Pick<Decisions, "move" | "stay" | "keep" | "cool" | "lost"> {
  const move = new Map<string, string>();
  const stay: string[] = [];
  const keep: Decisions["keep"][number][] = [];
  const cool: string[] = [];
  const lost: string[] = [];
  for (const [tenant, token] of view.running) {
    const lease = leases.get(tenant);
    const target = targets.get(tenant);
    if (lease === undefined || !lease.isMine || lease.token !== String(token)) lost.push(tenant);
    else if (!isHot(lease, view)) cool.push(tenant);
    else if (target === undefined || target === view.workerId) {
      stay.push(tenant);
      const { region } = view.hot.get(tenant) ?? lease;
      const source = sourceOf(tenant, lease, view);
      const isAsWritten = lease.state === "running" && lease.region === region && lease.source === source;
      if (!isAsWritten) keep.push({ tenant, token, region, source });
    } else move.set(tenant, target);
  }
  return { move, stay, keep, cool, lost };
}

/** Everything that should be hot, with the member that has it or is to get it. */
function hotTenants(
  view: TickView,
  leases: ReadonlyMap<string, TenantLease>,
  members: ReadonlySet<string>,
): readonly AssignedTenant[] {
  const hot: AssignedTenant[] = [];
  for (const [tenant, { region }] of view.hot) {
    if (!leases.has(tenant)) hot.push({ tenant, region, owner: null });
  }
  for (const lease of view.leases) {
    if (lease.source === "task" && !view.hot.has(lease.tenant)) continue;
    const isElsewhere = lease.state === "running" && !lease.isLost && lease.owner !== view.workerId;
    if (!isElsewhere && !isHot(lease, view)) continue;
    const holder = holderOf(lease, view);
    const owner = holder !== null && members.has(holder) ? holder : null;
    const listed = view.hot.get(lease.tenant);
    const region = listed === undefined ? lease.region : listed.region;
    hot.push({ tenant: lease.tenant, region, owner });
  }
  return hot;
}

/** Who has it and would keep it. A process that was started again under its id goes on with what its predecessor had. */
function holderOf(lease: TenantLease, view: TickView): string | null {
  if (lease.source === "task") return null;
  if (lease.state !== "running") return lease.heir;
  // Ours, and not running: it has just ended here, for a reason.
  return lease.isMine && !view.running.has(lease.tenant) ? null : lease.owner;
}

/** What was promoted by hand stays so, whoever else has found it hot since. */
function sourceOf(tenant: string, lease: TenantLease | undefined, view: TickView): TenantSource {
  if (lease?.source === "promoted") return "promoted";
  return view.hot.get(tenant)?.source ?? lease?.source ?? "listed";
}

function isHot(lease: TenantLease, view: TickView): boolean {
  if (view.hot.has(lease.tenant)) return true;
  if (!view.isHotKnown) return lease.source !== "task";
  if (lease.source === "listed" || lease.source === "task") return false;
  return !view.isIdle(lease.tenant);
}

/** Rows of cold tenants: our own that nothing runs under, and, for the first member, what others left behind. */
function tidy(view: TickView): readonly HeldTenant[] {
  const isFirst = view.members[0]?.id === view.workerId;
  const left = view.leases.filter((lease) => {
    const isLeftBehind = isFirst && (lease.owner === null || lease.isLost);
    const isOurs = lease.isMine && !view.running.has(lease.tenant) && !view.isBusy(lease.tenant);
    return (isLeftBehind || isOurs) && !isHot(lease, view);
  });
  return left.map(heldOf);
}

function heldOf({ tenant, token }: TenantLease): HeldTenant {
  return { tenant, token: BigInt(token) };
}
