import { defineConfig, type ViteUserConfig } from "vitest/config";

/** What both groups of tests have in common. */
const common = { testTimeout: 60_000, hookTimeout: 60_000, pool: "forks" } as const;
const exclude = ["**/node_modules/**", "build/**", "dist/**"];

const config: ViteUserConfig = defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    reporters: ["default", "./test/support/skips-reporter.ts"],
    projects: [
      {
        test: {
          ...common,
          name: "queue",
          include: ["test/**/*.test.ts"],
          exclude: [...exclude, "test/worker/**"],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Fleets of processes, whose figures count: one file at a time, with the machine to itself.
        test: {
          ...common,
          name: "worker",
          include: ["test/worker/**/*.test.ts"],
          exclude,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

export default config;
