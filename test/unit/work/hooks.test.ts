import { expect, it } from "vitest";
import { Hooks } from "../../../src/work/hooks.js";
import type { WorkingJob } from "../../../src/work/job.js";

const job = {} as WorkingJob;

it("hooks around a handler are nested in the order they were added, and a handler that returns at once stays so", () => {
  const hooks = new Hooks();
  const order: string[] = [];
  const noting = (name: string) => (_job: WorkingJob, run: () => unknown) => {
    order.push(`${name} before`);
    const result = run();
    order.push(`${name} after`);
    return result;
  };
  expect(hooks.hasHandleHooks).toBe(false);
  hooks.onHandle(noting("a"));
  const removeB = hooks.onHandle(noting("b"));
  expect(hooks.aroundHandle(job, () => order.push("handler"))).toBe(3);
  expect(order).toEqual(["a before", "b before", "handler", "b after", "a after"]);
  removeB();
  order.length = 0;
  hooks.aroundHandle(job, () => null);
  expect(order).toEqual(["a before", "a after"]);
});

it("hooks around an enqueue add their headers, and end in the reverse order", () => {
  const hooks = new Hooks();
  expect(hooks.beginEnqueue({ queue: "q", jobs: 1 })).toBeNull();
  const ends: string[] = [];
  for (const name of ["a", "b"])
    hooks.onEnqueue(({ jobs }) => ({
      headers: { [name]: jobs },
      end: (error) => ends.push(`${name} ${error}`),
    }));
  const begun = hooks.beginEnqueue({ queue: "q", jobs: 2 });
  expect(begun?.headers).toEqual({ a: 2, b: 2 });
  begun?.end("lost");
  expect(ends).toEqual(["b lost", "a lost"]);
});
