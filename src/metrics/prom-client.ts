import { definitions, type MetricName } from "./definitions.js";
import type { Family } from "./family.js";

/** What a registry of prom-client asks of a metric. `name` is not ours alone: a registry in the OpenMetrics format takes `_total` off it. */
interface RegisteredMetric {
  name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  get(): Promise<object>;
  reset(): void;
}

/** Every metric as prom-client's registry asks for it: by get(), at each scrape. The calls of one scrape share one collection. */
export function registeredMetrics(collect: () => Promise<readonly Family[]>): readonly RegisteredMetric[] {
  let underWay: Promise<readonly Family[]> | null = null;
  const shared = (): Promise<readonly Family[]> => {
    underWay ??= collect().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  return (Object.keys(definitions) as MetricName[]).map((name) => registered(name, shared));
}

function registered(name: MetricName, collect: () => Promise<readonly Family[]>): RegisteredMetric {
  const { help, type } = definitions[name];
  const aggregator = type === "gauge" ? "max" : "sum";
  const metric: RegisteredMetric = {
    name,
    help,
    type,
    aggregator,
    get: async () => {
      const family = (await collect()).find((one) => one.name === name);
      const values = (family?.samples ?? []).map(({ suffix, labels, value }) => ({
        ...(suffix === "" ? {} : { metricName: `${name}${suffix}` }),
        labels,
        value,
      }));
      return { name: metric.name, help, type, aggregator, values };
    },
    reset: () => {},
  };
  return metric;
}
