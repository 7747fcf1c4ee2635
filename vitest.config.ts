import { defineConfig, type TestProjectInlineConfiguration, type ViteUserConfig } from "vitest/config";

/** What all groups of tests have in common. Limits are for what hangs: no verdict depends on how fast the machine is. */
const common = { testTimeout: 120_000, hookTimeout: 120_000, pool: "forks", maxWorkers: 2 } as const;
const exclude = ["**/node_modules/**", "build/**", "dist/**"];

/** What needs more than Node and PostgreSQL, or takes long beside what it shows: `npm run test:all`. */
const others = ["browser", "brokers", "orms", "metrics", "packages", "drills"];

function otherProject(name: string): TestProjectInlineConfiguration {
  return {
    test: {
      ...common,
      name,
      include: [`test/${name}/**/*.test.ts`],
      exclude,
      maxWorkers: 1,
      sequence: { groupOrder: 2 },
    },
  };
}

const config: ViteUserConfig = defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    reporters: ["default", "./test/support/skips-reporter.ts"],
    projects: [
      {
        test: {
          ...common,
          name: "queue",
          // These wait for the database more than they compute.
          maxWorkers: 3,
          include: ["test/**/*.test.ts"],
          exclude: [...exclude, "test/worker/**", ...others.map((name) => `test/${name}/**`)],
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Fleets of processes.
        test: {
          ...common,
          name: "worker",
          include: ["test/worker/**/*.test.ts"],
          exclude,
          sequence: { groupOrder: 1 },
        },
      },
      ...others.map(otherProject),
    ],
  },
});

export default config;
