import { connect } from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";

/** A program that works, stops and closes, and then has nothing left to do. Prints what would keep it alive all the same. */
const { url, schema } = JSON.parse(process.argv[2] ?? "{}") as { url: string; schema: string };

const before = process.getActiveResourcesInfo();
const lh = await connect({ url, schema });
const inbox = await lh.queue("inbox");
const done = new Promise<void>((resolve) => lh.on("job:settled", () => resolve()));
const worker = lh.worker("inbox", { "receipt.send": async () => await Promise.resolve() });
await worker.start();
await inbox.enqueue("receipt.send", { order: 9182 });
await done;
const supervisor = createTenantSupervisor(lh, {
  fleet: true,
  hot: () => ["acme"],
  start: (_, { signal }) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
});
await supervisor.start();
await supervisor.stop();
await worker.stop();
await lh.close();
const left = process.getActiveResourcesInfo();
for (const known of before) left.splice(left.indexOf(known), left.includes(known) ? 1 : 0);
process.stdout.write(JSON.stringify(left));
