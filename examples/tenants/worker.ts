import { once } from "node:events";
import { connect } from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";
import { type FromWorker, nowMs } from "./messages.js";
import { startupMs, tenantNames } from "./settings.js";

/**
 * One worker process. Its environment has DATABASE_URL, WORKER_ID, the heartbeat, the TTL and the ownership tick, so that nothing of it stands here; the number of tenants is its
 * argument. SIGTERM drains it, as an orchestrator would.
 */

const lastWordsMs = 5_000;

async function main(): Promise<void> {
  const hot = tenantNames(Number(process.argv[2]));
  const lh = await connect({ logger: false, connectionsMax: 3 });
  // When the example itself is gone its database goes too, so there is a limit to the waiting.
  process.on("disconnect", () => {
    setTimeout(() => process.exit(1), lastWordsMs).unref();
    void lh.close().then(() => process.exit(0));
  });
  const supervisor = createTenantSupervisor(lh, {
    fleet: true,
    startupMs,
    hot: () => hot,
    // What runs for a tenant here only says so. Yours would poll a mailbox, hold a socket open, or follow a feed until the signal.
    start: async (tenant, { signal, fenceToken }) => {
      tell("began", tenant, fenceToken);
      if (!signal.aborted) await once(signal, "abort");
      tell("ended", tenant, fenceToken);
    },
  });
  if (process.connected) await supervisor.start();
}

function tell(is: FromWorker["is"], tenant: string, token: bigint): void {
  const message: FromWorker = { is, tenant, token: String(token), atMs: nowMs() };
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

await main();
