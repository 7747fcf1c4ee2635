/**
 * The other queues, resolved from bench/node_modules. Plain JavaScript, and loaded at run time (load-peer.ts), so that the rest compiles where
 * they are not installed.
 */
export const peers = {
  "graphile-worker": () => import("graphile-worker"),
  "pg-boss": () => import("pg-boss"),
  bullmq: async () => ({ ...(await import("bullmq")), Redis: (await import("ioredis")).Redis }),
};
