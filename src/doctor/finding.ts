/**
 * What can be wrong, most telling first: of two findings of the same severity the one that is listed earlier comes first, because it explains the other. The page
 * docs/doctor.md has a section for each.
 */
export const findingCodes = [
  "replica",
  "worker_failing",
  "no_workers",
  "poison_job",
  "restart_loop",
  "held_snapshot",
  "lock_waits",
  "autovacuum_off",
  "bloat",
  "slow_claims",
  "hot_key",
  "slow_handlers",
  "queue_paused",
  "unhandled_kind",
  "dead_letters",
  "expired_leases",
  "worker_died",
  "lost_leases",
  "bucket_skew",
  "notifications_off",
  "connections_full",
  "clock_skew",
  "asynchronous_commit",
  "mixed_versions",
] as const;
Object.freeze(findingCodes);

export type FindingCode = (typeof findingCodes)[number];
export type Severity = "critical" | "warning" | "info";

/** Something that is wrong, or soon will be: what, by which evidence, and what to do first. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** Null when it concerns the server or the fleet. */
  readonly queue: string | null;
  readonly words: string;
  readonly advice: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  /** The section of the docs on it. */
  readonly link: string;
}

const severities: readonly Severity[] = ["critical", "warning", "info"];

export function finding(about: Omit<Finding, "link" | "queue"> & { readonly queue?: string }): Finding {
  return Object.freeze({ queue: null, ...about, link: `docs/doctor.md#${about.code}` });
}

/** The worst first; among equals the one that explains the others. */
export function inOrder(findings: readonly Finding[]): readonly Finding[] {
  const rank = ({ severity, code }: Finding): number =>
    severities.indexOf(severity) * findingCodes.length + findingCodes.indexOf(code);
  return [...findings].sort((one, other) => rank(one) - rank(other));
}
