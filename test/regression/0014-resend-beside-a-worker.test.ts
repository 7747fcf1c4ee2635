import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { enqueueJobs } from "../../src/database/statements.generated.js";
import { setup } from "../support/world.js";

/** A job that finished between the archive being asked and the insert was inserted, and ran, a second time. */
test.each([604_800_000, 0])(
  "jobs sent again while a worker finishes them run once (retention %i ms)",
  async (retentionMs) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "none", retentionMs });
    const bind = binder({ schema: world.schema, queue: "inbox" });
    const ran: string[] = [];
    const finish = async (): Promise<void> => {
      for (;;) {
        const jobs = await inbox.claim({ workerId: "w", limit: 200 });
        if (jobs.length === 0) return;
        await inbox.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })));
        ran.push(...jobs.map((job) => job.id));
      }
    };
    const ids = new Set<string>();
    for (let round = 0; round < 4; round++) {
      const receipt = crypto.randomUUID();
      const jobs = Array.from({ length: 600 }, () => ({ id: crypto.randomUUID(), kind: "k" }));
      for (const job of jobs) ids.add(job.id);
      const send = async (extra: object, earlier?: string[]): Promise<void> => {
        const request = { receipt, ...extra, jobs: jobs.map((job) => ({ ...job, earlier })) };
        const query = bind(enqueueJobs, { request: JSON.stringify(request) });
        await world.sql(query.text, [...query.values]);
      };
      await send({ once: false });
      await Promise.all([finish(), send({ once: false, resend: true }, [receipt])]);
      await finish();
    }
    expect(ran.length).toBe(ids.size);
    expect(new Set(ran)).toEqual(ids);
  },
);
