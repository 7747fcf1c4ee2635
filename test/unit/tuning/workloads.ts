import type { Cluster, Workload } from "../../../src/tuning.js";

export interface NamedWorkload {
  readonly name: string;
  readonly cluster: Cluster;
  readonly workload: Workload;
  /** Virtual time that is enough to see it. */
  readonly seconds: number;
}

/** Twelve workloads that differ in what limits them. docs/tuning.md has the same table. */
export const namedWorkloads: readonly NamedWorkload[] = [
  {
    name: "receipts",
    cluster: {},
    workload: { jobsPerSecond: 20, peakJobsPerSecond: 60, handlerP50Ms: 80, handlerP99Ms: 600, keys: 5_000 },
    seconds: 60,
  },
  {
    name: "webhooks",
    cluster: { coresPerWorker: 4, connectionLimit: 300 },
    workload: {
      jobsPerSecond: 200,
      peakJobsPerSecond: 500,
      handlerP50Ms: 150,
      handlerP99Ms: 2_000,
      keys: 20_000,
      latencyTargetMs: 2_000,
      usesTransaction: false,
    },
    seconds: 20,
  },
  {
    name: "thumbnails",
    cluster: { coresPerWorker: 4 },
    workload: {
      jobsPerSecond: 5,
      peakJobsPerSecond: 15,
      handlerP50Ms: 400,
      handlerP99Ms: 1_500,
      bound: "cpu",
      order: "none",
      latencyTargetMs: 5_000,
    },
    seconds: 120,
  },
  {
    name: "ledger",
    cluster: { databaseCores: 8, connectionLimit: 300 },
    workload: {
      jobsPerSecond: 800,
      peakJobsPerSecond: 1_500,
      handlerP50Ms: 4,
      handlerP99Ms: 20,
      keys: 50_000,
      latencyTargetMs: 250,
    },
    seconds: 20,
  },
  {
    name: "chat fan-out",
    cluster: { databaseCores: 8 },
    workload: {
      jobsPerSecond: 2_000,
      peakJobsPerSecond: 4_000,
      handlerP50Ms: 2,
      handlerP99Ms: 10,
      order: "none",
      latencyTargetMs: 200,
      usesTransaction: false,
    },
    seconds: 10,
  },
  {
    name: "nightly report",
    cluster: { workers: 2 },
    workload: {
      jobsPerSecond: 0.02,
      handlerP50Ms: 60_000,
      handlerP99Ms: 600_000,
      keys: 500,
      latencyTargetMs: 60_000,
      failoverTargetMs: 120_000,
    },
    seconds: 3_600,
  },
  {
    name: "behind PgBouncer",
    cluster: { poolMode: "transaction" },
    workload: {
      jobsPerSecond: 30,
      handlerP50Ms: 50,
      handlerP99Ms: 400,
      keys: 2_000,
      latencyTargetMs: 1_500,
      failoverTargetMs: 20_000,
    },
    seconds: 60,
  },
  {
    name: "PgBouncer with directUrl",
    cluster: { poolMode: "transaction", hasDirectUrl: true, connectionLimit: 60 },
    workload: { jobsPerSecond: 30, handlerP50Ms: 50, handlerP99Ms: 400, keys: 2_000, latencyTargetMs: 500 },
    seconds: 60,
  },
  {
    name: "one large tenant",
    cluster: {},
    workload: {
      jobsPerSecond: 60,
      handlerP50Ms: 12,
      handlerP99Ms: 60,
      keys: 500,
      hottestKeyShare: 0.4,
      latencyTargetMs: 1_000,
    },
    seconds: 60,
  },
  {
    name: "hot key",
    cluster: {},
    workload: {
      jobsPerSecond: 200,
      handlerP50Ms: 15,
      handlerP99Ms: 60,
      keys: 1_000,
      hottestKeyShare: 0.5,
      latencyTargetMs: 1_000,
    },
    seconds: 30,
  },
  {
    name: "events of one small server",
    cluster: { workers: 1, coresPerWorker: 2, databaseCores: 1 },
    workload: {
      jobsPerSecond: 100,
      peakJobsPerSecond: 300,
      handlerP50Ms: 10,
      handlerP99Ms: 80,
      payloadBytes: 4_000,
      keys: 1_000,
      latencyTargetMs: 500,
    },
    seconds: 40,
  },
  {
    name: "more than the database can do",
    cluster: { databaseCores: 2, connectionLimit: 500 },
    workload: {
      jobsPerSecond: 30_000,
      handlerP50Ms: 1,
      handlerP99Ms: 3,
      order: "none",
      latencyTargetMs: 250,
      usesTransaction: false,
    },
    seconds: 2,
  },
];
