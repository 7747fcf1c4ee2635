import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedPostgresError } from "../../errors.js";
import { askServer } from "./ask-server.js";
import { pickFreePort } from "./free-port.js";
import { findLiveServer, type LiveServer } from "./live-server.js";
import { Postmaster, type PostmasterPlan } from "./postmaster.js";

export interface LaunchPlan extends Omit<PostmasterPlan, "port"> {
  /** The port to use and no other; undefined for any free one. */
  readonly port: number | undefined;
  /** Whether a server that already runs on the folder will do. */
  readonly mayJoin: boolean;
}

export type Launched =
  | {
      readonly kind: "started";
      readonly postmaster: Postmaster;
      readonly port: number;
      readonly url: string;
      readonly version: string;
    }
  | { readonly kind: "joined"; readonly server: LiveServer };

/**
 * Starts the server and returns when it answers. Starts again when the port was taken in the moment between picking and
 * binding it, and while another process, or what is left of a killed server, still holds the data folder.
 */
export async function launch(plan: LaunchPlan): Promise<Launched> {
  let lines = "";
  for (let attempt = 0; attempt < LAUNCH_ATTEMPTS_MAX; attempt += 1) {
    const server = plan.mayJoin ? await findLiveServer(plan.dataPath) : undefined;
    if (server !== undefined) return { kind: "joined", server };

    const outcome = await launchOnce({ ...plan, port: plan.port ?? (await pickFreePort()) });
    if (outcome.kind === "started") return outcome;
    lines = outcome.lines;
    if (outcome.kind === "failed") break;
    if (outcome.kind === "port-taken" && plan.port === undefined) continue;
    if (outcome.kind === "port-taken" && attempt + 1 >= GIVEN_PORT_ATTEMPTS_MAX) break;
    await sleep(LAUNCH_RETRY_DELAY_MS);
  }
  throw new EmbeddedPostgresError(`PostgreSQL did not start on ${plan.dataPath}. Its last words:\n${lines}`);
}

type Outcome =
  | Extract<Launched, { kind: "started" }>
  | { readonly kind: "port-taken" | "folder-held" | "failed"; readonly lines: string };

async function launchOnce(plan: PostmasterPlan): Promise<Outcome> {
  const postmaster = new Postmaster(plan);
  for (let attempt = 0; attempt < READY_ATTEMPTS_MAX; attempt += 1) {
    if (!postmaster.isRunning) return whyEnded(await postmaster.lastLines());
    // Whoever else has the port may accept the connection and never answer; our own server's end comes first.
    const answer = await Promise.race([askServer(plan.port, plan.dataPath), postmaster.ended]);
    if (answer && postmaster.isRunning) {
      postmaster.release();
      return { kind: "started", postmaster, port: plan.port, ...answer };
    }
    await sleep(READY_POLL_MS);
  }
  await postmaster.kill();
  return { kind: "failed", lines: `${await postmaster.lastLines()}\n(it ran, but did not answer in time)` };
}

/** The messages are in English because the data is made with the C locale. */
function whyEnded(lines: string): Outcome {
  if (lines.includes("could not create any TCP/IP sockets")) return { kind: "port-taken", lines };
  const isHeld = /lock file "postmaster.pid" already exists|pre-existing shared memory block/.test(lines);
  return { kind: isHeld ? "folder-held" : "failed", lines };
}

const LAUNCH_ATTEMPTS_MAX = 25;
/** A given port may still be held by the last run for a moment; longer than that, it belongs to somebody else. */
const GIVEN_PORT_ATTEMPTS_MAX = 5;
const LAUNCH_RETRY_DELAY_MS = 200;
const READY_POLL_MS = 10;
/** At least a minute: after a crash the server first replays what it had not yet written out. */
const READY_ATTEMPTS_MAX = 6_000;
