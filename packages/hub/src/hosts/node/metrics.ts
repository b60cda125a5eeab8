/** Collects the metrics of all capabilities, and those of the Node process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Metrics } from "../../kernel/metrics.ts";

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    counter({ name, help, labels = [], initial = [] }) {
      const counter = new Counter({ name, help, labelNames: labels, registers });
      for (const values of initial) counter.inc(values, 0);
      const childOf = cacheChildren(labels, (values) => counter.labels(values));
      return (values, amount) => childOf(values).inc(amount);
    },
    histogram({ name, help, labels = [], buckets }) {
      const options = { name, help, labelNames: labels, buckets: [...buckets], registers };
      const histogram = new Histogram(options);
      const childOf = cacheChildren(labels, (values) => histogram.labels(values));
      return (values, value) => childOf(values).observe(value);
    },
    gauge({ name, help, labels = [], read }) {
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        async collect() {
          this.reset();
          try {
            for (const [values, value] of await read()) this.set(values, value);
          } catch {
            // While the database does not respond, the other metrics are still needed.
            if (labels.length === 0) this.set(Number.NaN);
          }
        },
      });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** prom-client takes longer to find a child metric by its labels than to count, so children are cached. */
function cacheChildren<Label extends string, Child>(
  labels: readonly Label[],
  open: (values: Readonly<Record<Label, string>>) => Child,
): (values: Readonly<Record<Label, string>>) => Child {
  const children = new Map<string, Child>();
  return (values) => {
    let key = "";
    for (const label of labels) key += `${values[label]} `;
    let child = children.get(key);
    if (child === undefined) {
      child = open(values);
      children.set(key, child);
    }
    return child;
  };
}
