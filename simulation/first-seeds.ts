import { runSimulation } from "./run.js";

/** A program for `npm run safeguards`: runs the first seeds with this tree's own code. `node build/simulation/first-seeds.js 40` */
const report = await runSimulation(
  { count: Number(process.argv[2]) },
  {
    say: (line) => void process.stdout.write(`${line}\n`),
    note: () => {},
    signal: new AbortController().signal,
  },
);
process.exitCode = report.failed + report.unequal === 0 ? 0 : 1;
