import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Stage } from "../../cli/drills/stage.js";
import { diagnose } from "../../src/index.js";

/** For what hangs. */
const limitMs = 900_000;
const looks = 10;
const jobsBetween = 200;

test(
  "three worker processes under a steady load have no findings, ten times out of ten",
  async () => {
    const stage = await Stage.open({
      environment: process.env,
      signal: new AbortController().signal,
      workerEntry: resolve("build/cli/drills/worker-process.js"),
      note: () => {},
      progress: () => () => {},
    });
    onTestFinished(() => stage.stop());
    await stage.startWorkers(["web-1", "web-2", "web-3"]);
    const load = stage.startLoad({
      perSecond: 50,
      waitingMax: 500,
      make: (n) => ({
        kind: "receipt.send",
        payload: { ms: 5 + (n % 10) * 10 },
        partitionKey: `order:${n % 300}`,
      }),
    });
    for (let look = 1; look <= looks; look++) {
      await stage.until(`${look * jobsBetween} jobs are done`, async () => {
        const { pending, processing } = await stage.inbox.stats();
        return load.added - pending - processing >= look * jobsBetween;
      });
      const { findings } = await diagnose(stage.lh);
      // On a busy machine every claim is slow, which is an info.
      expect(findings.filter(({ code, severity }) => code !== "slow_claims" || severity !== "info")).toEqual(
        [],
      );
    }
  },
  limitMs,
);
