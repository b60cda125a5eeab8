/**
 * The metrics of one object in Prometheus' text format, with the same names as on the Node host. They
 * start at 0 when the object starts. Instead of a histogram there are only its sum and its count.
 */

import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import type { Metrics } from "../../kernel/metrics.ts";

export function createMetrics(): Metrics {
  const values = new Map<string, number>();
  const gauges: (() => MaybePromise<[string, number][]>)[] = [];
  const add = (key: string, amount: number) => values.set(key, (values.get(key) ?? 0) + amount);
  return {
    counter({ name, initial = [] }) {
      for (const labels of initial) add(keyOf(name, labels), 0);
      return (labels, amount = 1) => add(keyOf(name, labels), amount);
    },
    histogram:
      ({ name }) =>
      (labels, value) => {
        add(keyOf(`${name}_sum`, labels), value);
        add(keyOf(`${name}_count`, labels), 1);
      },
    gauge({ name, labels = [], read }) {
      gauges.push(async () => {
        try {
          return [...(await read())].map(([values, value]) => [keyOf(name, values), value]);
        } catch {
          return labels.length === 0 ? [[name, Number.NaN]] : [];
        }
      });
    },
    async text() {
      const lines = [...values, ...(await Promise.all(gauges.map((read) => read()))).flat()];
      return lines.map(([key, value]) => `${key} ${value}\n`).join("");
    },
    contentType: "text/plain; version=0.0.4; charset=utf-8",
  };
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const list = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return list.length > 0 ? `${name}{${list.join(",")}}` : name;
}
