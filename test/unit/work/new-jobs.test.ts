import { expect, it } from "vitest";
import { createEvents } from "../../../src/events.js";
import { defaults } from "../../../src/settings.js";
import { addedHeaders } from "../../../src/work/job-headers.js";
import { newJobs } from "../../../src/work/new-jobs.js";
import { qualified } from "../../../src/work/queue-settings.js";

const payloadLimitBytes = 4_000_000;
const settings = qualified("inbox", "leasehold", { order: "none", payloadLimitBytes });
const newId = (): string => "01a1e0d8-3bb3-7000-9dbc-43846d925fe2";

const added = addedHeaders({ trace: "1" });

it("a list of jobs that fits without added headers is taken without them", () => {
  const queue = { settings, events: createEvents() };
  const [empty] = newJobs([{ kind: "k", payload: "" }], newId, queue);
  const payload = "x".repeat(payloadLimitBytes / 2);
  const bytes = payload.length + (empty?.json.length ?? 0);
  const inputs = Array.from({ length: Math.floor(defaults.enqueueManyBytesMax / bytes) }, () => ({
    kind: "k",
    payload,
  }));
  const rest = defaults.enqueueManyBytesMax - inputs.length * bytes - (empty?.json.length ?? 0);
  inputs.push({ kind: "k", payload: "x".repeat(rest) });
  const jobs = newJobs(inputs, newId, { ...queue, added });
  expect(jobs.at(-1)?.json).not.toContain("trace");
  const fewer = newJobs(inputs.slice(1), newId, { ...queue, added });
  expect(fewer.at(-1)?.json).toContain(',"headers":{"trace":"1"}}');
});
