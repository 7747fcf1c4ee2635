import { type Leasehold, surroundingsOf } from "../leasehold.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, flag, wholeNumber } from "../settings.js";
import { Families, type Family } from "./family.js";
import { addProcessMetrics } from "./process-metrics.js";
import { registeredMetrics } from "./prom-client.js";
import { prometheusContentType, prometheusText } from "./prometheus.js";
import { SystemCollection } from "./system-collection.js";

export interface MetricsOptions {
  /** Whether depths, ages and sizes are asked of the database; true. False exports only what this process knows of itself. */
  readonly system?: boolean | undefined;
  /** How long what the database said is used again, whatever the number of scrapes; 5 s. */
  readonly cacheMs?: number | undefined;
}

/** What a registry of prom-client takes. */
export interface MetricRegistry {
  registerMetric(metric: never): void;
}

export interface Metrics {
  /** Every metric with its samples now; without the database only what this process knows of itself. */
  collect(): Promise<readonly Family[]>;
  /** The same in the text format of Prometheus. */
  text(): Promise<string>;
  /** Answers a scrape, in any server that speaks fetch. */
  handler(request: Request): Promise<Response>;
  /** Adds every metric to a registry of prom-client, beside your own. */
  register(registry: MetricRegistry): void;
}

const optionNames: OptionNames<MetricsOptions> = Object.freeze({ system: true, cacheMs: true });

/** The metrics of a connection. Nothing is collected until somebody asks. */
export function createMetrics(lh: Leasehold, options: MetricsOptions = {}): Metrics {
  const around = surroundingsOf(lh);
  const checked = withKnownNames("createMetrics()", options, optionNames);
  const isSystem = flag("system", checked.system, true);
  const keepMs = wholeNumber("cacheMs", checked.cacheMs, {
    fallback: defaults.metricsCacheMs,
    min: 0,
    max: 3_600_000,
  });
  const system = isSystem ? new SystemCollection(lh, keepMs) : null;

  const collect = async (): Promise<readonly Family[]> => {
    const ofSystem = await system?.read();
    const families = new Families();
    addProcessMetrics(families, around);
    if (ofSystem !== undefined) families.add("leasehold_system_metrics_up", ofSystem === null ? 0 : 1);
    return [...(ofSystem ?? []), ...families.list()];
  };

  const text = async (): Promise<string> => prometheusText(await collect());

  return Object.freeze({
    collect,
    text,
    handler: async (request) => {
      if (request.method !== "GET" && request.method !== "HEAD")
        return new Response("Only GET is answered here.\n", { status: 405, headers: { allow: "GET, HEAD" } });
      try {
        return new Response(request.method === "HEAD" ? null : await text(), {
          headers: { "content-type": prometheusContentType, "cache-control": "no-store" },
        });
      } catch (error) {
        return new Response(`The metrics could not be collected: ${error}\n`, { status: 503 });
      }
    },
    register: (registry) => {
      for (const metric of registeredMetrics(collect)) registry.registerMetric(metric as never);
    },
  } satisfies Metrics);
}
