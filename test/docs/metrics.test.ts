import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { definitions } from "../../src/metrics.js";

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface Dashboard {
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
}

/** Labels that Prometheus adds itself. */
const ofPrometheus = ["job", "instance"];

/** What is wrong with the metrics and labels of an expression. */
function faultsOf(expression: string): string[] {
  const faults: string[] = [];
  for (const [, name = "", matchers = ""] of expression.matchAll(/\b(leasehold_\w+)(?:\{([^}]*)\})?/g)) {
    const metric = name in definitions ? name : name.replace(/_(bucket|sum|count)$/, "");
    const definition = definitions[metric as keyof typeof definitions];
    if (definition === undefined) {
      faults.push(`there is no metric ${name}`);
      continue;
    }
    if ((definition.type === "histogram") !== (metric !== name))
      faults.push(`${name} is a ${definition.type}`);
    const labels = [...matchers.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = ""]) => label);
    const known: readonly string[] = [...definition.labels, ...ofPrometheus];
    for (const label of labels) if (!known.includes(label)) faults.push(`${name} has no label ${label}`);
  }
  return faults;
}

/** The name of a definition for each metric in a text. */
function metricsIn(text: string): Set<string> {
  const names = [...text.matchAll(/\bleasehold_\w+/g)].map(([name]) => name);
  return new Set(
    names.map((name) => (name in definitions ? name : name.replace(/_(bucket|sum|count)$/, ""))),
  );
}

it("an expression with a metric or a label that there is not is found out", () => {
  expect(faultsOf('rate(leasehold_jobs_done_total{queue="a"}[5m])')).toEqual([
    "there is no metric leasehold_jobs_done_total",
  ]);
  expect(faultsOf('leasehold_jobs{state="x",job="a"}')).toEqual(["leasehold_jobs has no label state"]);
  expect(faultsOf("leasehold_claim_rows")).toEqual(["leasehold_claim_rows is a histogram"]);
  expect(faultsOf("leasehold_jobs_count")).toEqual(["leasehold_jobs_count is a gauge"]);
});

describe("docs/grafana-dashboard.json", async () => {
  const dashboard = JSON.parse(await read("docs/grafana-dashboard.json")) as Dashboard;
  const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  it("asks for metrics and labels that exist, and for every metric", () => {
    expect(expressions.flatMap(faultsOf)).toEqual([]);
    expect([...metricsIn(expressions.join("\n"))].sort()).toEqual(Object.keys(definitions).sort());
  });

  it("can be imported: each panel has an id, a title and a description", () => {
    expect(dashboard).toMatchObject({ title: "Leasehold", schemaVersion: 39 });
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const { type, title, description } of dashboard.panels)
      expect([title, type === "row" || (description?.length ?? 0) > 0]).toEqual([title, true]);
  });
});

describe("docs/alerts.yml", async () => {
  const text = await read("docs/alerts.yml");
  const alerts = text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => ({ name: rule.split("\n")[0] ?? "", rule }));

  it("has rules with a summary, a description and a section of docs/doctor.md each", async () => {
    const doctor = await read("docs/doctor.md");
    expect(alerts.length).toBeGreaterThanOrEqual(9);
    for (const { name, rule } of alerts) {
      const anchor = /runbook_url: docs\/doctor\.md#(\w+)/.exec(rule)?.[1] ?? "";
      const hasSection = new RegExp(`^##+ ${anchor}$`, "im").test(doctor);
      expect([name, /summary: \S/.test(rule), /description: \S/.test(rule), hasSection]).toEqual([
        name,
        true,
        true,
        true,
      ]);
    }
  });

  it("asks for metrics and labels that exist", () => {
    expect(alerts.flatMap(({ rule }) => faultsOf(rule))).toEqual([]);
  });
});
