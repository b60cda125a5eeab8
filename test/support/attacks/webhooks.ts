/** Webhooks that are expensive to parse or to match. */
import { node } from "../flow-samples.ts";

/** A body of about this size that consists of empty objects. */
export const emptyObjects = (bytes: number): string => {
  const count = Math.floor((bytes - '{"x":[{}]}'.length) / "{},".length);
  return `{"x":[${"{},".repeat(count)}{}]}`;
};

/** A flow whose trigger compares the items of `list` with a glob of 1,000 characters. */
export const flowWithLongGlob = (source: string, type: string) => ({
  name: "Glob",
  nodes: [
    node("on", "Event", {
      source,
      type,
      params: { list: { op: "glob", value: `${"*a".repeat(499)}*b` } },
    }),
  ],
  edges: [],
});

/** A body of 1 MiB whose `list` makes the glob of `flowWithLongGlob` backtrack. */
export const listForLongGlob = (extra: object = {}): string =>
  JSON.stringify({ ...extra, list: Array.from({ length: 1_000 }, () => "a".repeat(1_040)) });
