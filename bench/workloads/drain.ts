import { drain, fillBacklog, keysFor, outcomeOf } from "./backlog.js";
import { perSecond, type Workload } from "./workload.js";

const limitMs = 60_000;

export const drainAlone: Workload = {
  id: "B3",
  title: "Drain, one process",
  about:
    "100 000 jobs whose handler does nothing, from the start of the first handler until the system's table holds no unfinished job.",
  ...measured(1),
};

export const drainInTwo: Workload = {
  id: "B4",
  title: "Drain, two processes",
  about: "The same with two worker processes.",
  ...measured(2),
};

export const drainInOrder: Workload = {
  id: "B8",
  title: "Drain in order of keys",
  about:
    "The same with 1 000 keys of 100 jobs each, enqueued in turn; jobs of a key one after the other and in order. Broken off after 60 s.",
  ...measured(1),
};

function measured(processes: number): Pick<Workload, "figures" | "expectedSeconds" | "run"> {
  return {
    figures: [perSecond],
    expectedSeconds: 14,
    run: async (cell) => {
      const backlog = await fillBacklog(cell, cell.scaled(100_000), keysFor(cell));
      return outcomeOf(backlog, await drain(cell, backlog, { processes, limitMs }));
    },
  };
}
