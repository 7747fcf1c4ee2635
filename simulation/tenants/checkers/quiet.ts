import type { EntryOf } from "../../entries.js";
import { isHarmless, type TenantHistorySettings, workerOf } from "../history.js";

/**
 * Whoever is frozen is gone for the others when its TTL is over, however long it lasts: it disturbs when it begins and when it ends. Everything else disturbs all the time: of one that is
 * cut off some beats may arrive without an answer, so that it stays alive for all but itself.
 */
const momentary: ReadonlySet<string> = new Set(["frozen", "shares its id"]);
const helpless: readonly string[] = ["frozen", "cut off"];

/** Since when nothing has happened to a fleet, and whether what happened last leaves only the TTL to go by. */
export class Quiet {
  readonly #settings: TenantHistorySettings;
  readonly #open = new Map<string, Set<string>>();
  readonly #candidates = new Set<string>();
  #flapper: string | null = null;
  #sinceMs = 0;
  #roughAtMs = Number.NEGATIVE_INFINITY;
  #killedAtMs = Number.NEGATIVE_INFINITY;

  constructor(settings: TenantHistorySettings) {
    this.#settings = settings;
  }

  apply(entry: EntryOf<"fault"> | EntryOf<"joined">): void {
    const { process, atMs } = entry;
    // One worker that crashes over and over must not hold up anything: it is no news after the first time.
    if (workerOf(process) === this.#flapper) this.#roughAtMs = atMs;
    else this.#sinceMs = atMs;
    if (entry.is === "fault" && entry.what === "flaps")
      this.#flapper = entry.state === "hit" ? process : null;
    if (entry.is === "joined") this.#candidates.add(process);
    else this.#fault(entry);
  }

  /** It can do nothing for now. */
  isHelpless(process: string): boolean {
    return helpless.some((what) => this.#open.get(process)?.has(what));
  }

  /** Null while something goes on, or while nobody is there to run anything. */
  get sinceMs(): number | null {
    const isUnderWay = [...this.#open.values()].some((open) => [...open].some((one) => !momentary.has(one)));
    const isSomebodyThere = [...this.#candidates].some((process) => !this.isHelpless(process));
    return isUnderWay || !isSomebodyThere ? null : this.#sinceMs;
  }

  /** How long something that waits since then may go on waiting. */
  limitMs(sinceMs: number): number {
    const { soonMs, lateMs } = this.#settings;
    return this.#roughAtMs >= sinceMs - lateMs ? lateMs : soonMs;
  }

  #fault(entry: EntryOf<"fault">): void {
    const { process, what, state, atMs } = entry;
    if (what === "draining" || state === "gone") this.#candidates.delete(process);
    if (state === "gone") {
      this.#open.delete(process);
      if (what !== "killed") return;
      // With the watcher also gone, or half of the fleet at once, sessions say nothing.
      if (atMs - this.#killedAtMs < this.#settings.lateMs) this.#roughAtMs = atMs;
      this.#killedAtMs = atMs;
    } else if (!isHarmless(entry)) {
      const open = this.#open.get(process) ?? new Set<string>();
      this.#open.set(process, open);
      if (state === "hit") open.add(what);
      else open.delete(what);
      this.#roughAtMs = atMs;
    }
  }
}
