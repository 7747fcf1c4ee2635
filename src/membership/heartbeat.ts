import type { Activity } from "../runtime/activity.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import type { WorkerLoad } from "./load.js";
import type { TrustWindow } from "./trust-window.js";
import type { WorkerRecord } from "./worker-record.js";

export interface HeartbeatParts {
  readonly record: WorkerRecord;
  readonly trust: TrustWindow;
  load(): WorkerLoad;
  /** Others took us for dead; perhaps our session is gone and we have not noticed. Resolves when that is known, within a limit. */
  onMarkedDead(): Promise<void>;
  /** A beat that began then was accepted, and found that our session is gone on the server's side. */
  onSessionFree(beatStartedAtMs: number): void;
  /** The window had shut, and is open again: what this process knows of the others may be old. */
  onTrusted(): void;
  /** An operator asks this process to drain. */
  onDrainAsked(): void;
  /** A beat was accepted, and has found which queues there are. */
  onQueuesFound(): void;
  /** Somebody else runs under our id: give way. */
  onSuperseded(): void;
}

/** Says that this process is alive. Marked dead by mistake it registers again; replaced by another process of its id it gives way. */
export function heartbeat(
  seams: { readonly clock: Clock; readonly random: Random },
  parts: HeartbeatParts,
): Activity {
  const { record, trust } = parts;
  return {
    name: "heartbeat",
    // When the database is back, claims get through again: the beat must not be so late that the TTL ends first.
    backoffMsMax: record.settings.ttlMs * defaults.trustMarginShare * defaults.beatAgainShare,
    async run() {
      const startedAtMs = seams.clock.monotonicMs();
      let answer = await record.beat(parts.load());
      if (answer !== "accepted") trust.shut();
      if (answer === "dead") {
        await parts.onMarkedDead();
        if (!(await record.register(parts.load(), "it was marked dead"))) answer = "superseded";
      }
      if (answer === "superseded") {
        parts.onSuperseded();
        return Number.POSITIVE_INFINITY;
      }
      const wasOpen = trust.isOpen();
      trust.extend(startedAtMs);
      if (answer === "accepted" && record.isSessionFree) parts.onSessionFree(startedAtMs);
      if (!wasOpen) parts.onTrusted();
      if (answer === "accepted") parts.onQueuesFound();
      if (answer === "accepted" && record.isDrainAsked) parts.onDrainAsked();
      return record.settings.heartbeatMs * (1 - defaults.pollJitter * seams.random.fraction());
    },
  };
}
