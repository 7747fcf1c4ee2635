import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderOfTest, programOr, promtool } from "./prometheus-process.js";

const rules = join(process.cwd(), "docs/alerts.yml");

/** Each minute for 40 minutes, in the notation of promtool. */
const steady = (value: number): string => `${value}+0x40`;
const rising = "0+10x40";

const healthy: Readonly<Record<string, string>> = {
  'leasehold_jobs{job="shop",queue="inbox",status="dead_letter"}': steady(3),
  'leasehold_jobs_due{job="shop",queue="inbox"}': steady(20),
  'leasehold_oldest_due_age_seconds{job="shop",queue="inbox"}': steady(2),
  'leasehold_queue_paused{job="shop",queue="inbox"}': steady(0),
  'leasehold_workers_failing{job="shop",queue="inbox"}': steady(0),
  'leasehold_workers{job="shop",state="alive"}': steady(3),
  'leasehold_leases_lost_total{job="shop",queue="inbox"}': steady(4),
  'leasehold_settles_refused_total{job="shop",queue="inbox"}': steady(1),
  'leasehold_oldest_snapshot_age_seconds{job="shop"}': steady(5),
  'leasehold_housekeeping_duration_seconds_count{job="shop"}': "0+2x40",
  'leasehold_notifications{job="shop",instance="a"}': steady(1),
  'leasehold_trusted{job="shop",instance="a"}': steady(1),
  'leasehold_claim_duration_seconds_bucket{job="shop",queue="inbox",le="0.128"}': rising,
  'leasehold_claim_duration_seconds_bucket{job="shop",queue="inbox",le="1.024"}': rising,
  'leasehold_claim_duration_seconds_bucket{job="shop",queue="inbox",le="+Inf"}': rising,
};

/** What differs from a healthy system, and the alerts that are to fire for it, and no others. */
const incidents: readonly (readonly [alerts: readonly string[], series: Readonly<Record<string, string>>])[] =
  [
    [[], {}],
    [["LeaseholdLag"], { 'leasehold_oldest_due_age_seconds{job="shop",queue="inbox"}': steady(100) }],
    [
      ["LeaseholdLag", "LeaseholdLagCritical"],
      { 'leasehold_oldest_due_age_seconds{job="shop",queue="inbox"}': steady(700) },
    ],
    [["LeaseholdDeadLetters"], { 'leasehold_jobs{job="shop",queue="inbox",status="dead_letter"}': "3+1x40" }],
    [["LeaseholdWorkersFailing"], { 'leasehold_workers_failing{job="shop",queue="inbox"}': steady(1) }],
    [["LeaseholdNoWorkers"], { 'leasehold_workers{job="shop",state="alive"}': steady(0) }],
    [["LeaseholdLeasesLost"], { 'leasehold_leases_lost_total{job="shop",queue="inbox"}': "4+1x40" }],
    [["LeaseholdLeasesLost"], { 'leasehold_settles_refused_total{job="shop",queue="inbox"}': "4+1x40" }],
    [["LeaseholdHeldSnapshot"], { 'leasehold_oldest_snapshot_age_seconds{job="shop"}': steady(700) }],
    [
      ["LeaseholdQueuePaused"],
      {
        'leasehold_queue_paused{job="shop",queue="inbox"}': steady(1),
        'leasehold_oldest_due_age_seconds{job="shop",queue="inbox"}': steady(7_000),
      },
    ],
    [
      ["LeaseholdHousekeepingAbsent"],
      { 'leasehold_housekeeping_duration_seconds_count{job="shop"}': steady(9) },
    ],
    [["LeaseholdNotificationsOff"], { 'leasehold_notifications{job="shop",instance="a"}': steady(0) }],
    [["LeaseholdUntrusted"], { 'leasehold_trusted{job="shop",instance="a"}': steady(0) }],
    [
      ["LeaseholdClaimsSlow"],
      { 'leasehold_claim_duration_seconds_bucket{job="shop",queue="inbox",le="0.128"}': "0+9x40" },
    ],
    [["LeaseholdMetricsAbsent"], { 'leasehold_jobs{job="shop",queue="inbox",status="dead_letter"}': "_x40" }],
  ];

test("promtool takes the rules", async (context) => {
  const program = programOr(context, "promtool");
  expect(await promtool(program, ["check", "rules", rules])).toMatch(/SUCCESS: \d+ rules found/);
});

test("each alert fires for its incident, and none on a healthy system", async (context) => {
  const program = programOr(context, "promtool");
  const defined = [...(await readFile(rules, "utf8")).matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  expect(new Set(incidents.flatMap(([alerts]) => alerts))).toEqual(new Set(defined));
  const tests = incidents.map(([alerts, changed]) => ({
    interval: "1m",
    input_series: Object.entries({ ...healthy, ...changed }).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: "30m",
        exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  }));
  const file = join(await folderOfTest(), "tests.yml");
  await writeFile(file, JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests }));
  expect(await promtool(program, ["test", "rules", file])).toContain("SUCCESS");
});
