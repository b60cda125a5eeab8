/** The metrics of a capability. A host collects them, and formats them for Prometheus. */
import type { MaybePromise } from "./lib/maybe-promise.ts";

type Labels<Label extends string> = Readonly<Record<Label, string>>;

interface Metric<Label extends string> {
  /** Begins with `signalbox_`; docs/operating.md lists it. */
  name: string;
  help: string;
  /** The values of a label must be bounded: no names from a request or a flow. */
  labels?: readonly Label[];
}

interface CounterMetric<Label extends string> extends Metric<Label> {
  /** These are reported as 0 before they are counted. */
  initial?: readonly Labels<Label>[];
}

interface HistogramMetric<Label extends string> extends Metric<Label> {
  buckets: readonly number[];
}

interface GaugeMetric<Label extends string> extends Metric<Label> {
  /** Called for each response. If it fails, a gauge without labels is NaN, and one with labels is left out. */
  read(): MaybePromise<Iterable<readonly [Labels<Label>, number]>>;
}

export interface Metrics {
  counter<Label extends string = never>(
    metric: CounterMetric<Label>,
  ): (labels: Labels<Label>, amount?: number) => void;
  histogram<Label extends string = never>(
    metric: HistogramMetric<Label>,
  ): (labels: Labels<Label>, value: number) => void;
  gauge<Label extends string = never>(metric: GaugeMetric<Label>): void;
  /** The response body of `/metrics`. */
  text(): Promise<string>;
  contentType: string;
}

/** The value of a gauge without labels. */
export const single = (value: number): [[Record<never, string>, number]] => [[{}, value]];
