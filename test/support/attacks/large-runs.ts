/** Flows with large values. `TRIGGER` is the id of the trigger of each flow, except `flowOf750000References`. */
import { edge, intent, node } from "../flow-samples.ts";

export const TRIGGER = "intent Go";

const flowOf = (nodes: { id: string }[]) => ({
  name: "Large",
  nodes: [intent("Go"), ...nodes],
  edges: nodes.map(({ id }, at) => edge(nodes[at - 1]?.id ?? TRIGGER, id)),
});
const largeOutput = { code: 'return "x".repeat(3_900_000)', memoryMb: 128, timeoutMs: 2000 };
const outputNode = (at: number) => node(`n${at}`, "Code", largeOutput);

/** Nodes with outputs of 3.9 MB, each followed by a node with a small output, so that no code gets a large input. */
const flowOfOutputs = (count: number) =>
  flowOf([
    ...Array.from({ length: count }, (_, at) => [
      outputNode(at),
      node(`s${at}`, "EmitEvent", { type: "small", data: {} }),
    ]).flat(),
    node("end", "Return", { value: "short" }),
  ]);

/** Sixty outputs of 3.9 MB exceed the budget of a run. */
export const runBeyondItsBudget = () => flowOfOutputs(60);

/** Outputs of 58 MB in all, which the budget of a run allows. */
export const runOf58Megabytes = () => flowOfOutputs(15);

/** An event of 468 MB: 120 references to one value of 3.9 MB. */
export const eventOf468Megabytes = () => {
  const data = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`f${at}`, "{{ n0 }}"]));
  return flowOf([outputNode(0), node("emit", "EmitEvent", { type: "large", data })]);
};

/** A condition on a list of 950,000 items. */
export const conditionOnLongList = () =>
  flowOf([
    node("n0", "Code", {
      code: "return Array(950_000).fill(1)",
      timeoutMs: 2_000,
      memoryMb: 128,
    }),
    node("test", "Condition", {
      conditions: [{ left: "{{ n0 }}", op: "glob", right: `${"*1".repeat(499)}*2` }],
    }),
  ]);

/** Code that returns 3.1 MB of short values. */
const MANY_VALUES =
  'return Array.from({ length: 100_000 }, (_, id) => ({ id, name: "name " + id }))';

/** An input of 468 MB: 120 references to one value of 3.9 MB. */
export const inputOf468Megabytes = () =>
  flowOf([outputNode(0), node("end", "Return", { value: Array(120).fill("{{ n0 }}") })]);

/** A text of 468 MB. */
export const textOf468Megabytes = () =>
  flowOf([outputNode(0), node("end", "Return", { value: "{{ n0 }} ".repeat(120) })]);

/** An input of 7.5 MB: 30 references to one value that is just below 256 KiB. */
export const inputOf30References = (code: string) =>
  flowOf([
    node("n0", "Code", { code, timeoutMs: 2_000, memoryMb: 128 }),
    node("end", "Return", {
      value: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`k${at}`, "{{ n0.v }}"])),
    }),
  ]);

/** 750,000 references in a body of 7.6 MB, which the size limit allows. */
export const flowOf750000References = () => ({
  name: "References",
  nodes: Array.from({ length: 500 }, (_, at) =>
    node(`c${at}`, "Return", { value: { text: "{{ c1.a }}".repeat(1_500) } }),
  ),
});

/** Emits an event with 300,000 values, and returns one of them. */
export const eventOfManyValues = () =>
  flowOf([
    node("n0", "Code", { code: MANY_VALUES, timeoutMs: 2_000, memoryMb: 128 }),
    node("emit", "EmitEvent", { type: "large", data: { title: "Large", items: "{{ n0 }}" } }),
    node("end", "Return", { value: "{{ n0[99999].name }}" }),
  ]);

/** Every kind of node reads or passes on a value of 3.1 MB. */
export const nodesWithLargeValue = () =>
  flowOf([
    node("n0", "Code", { code: MANY_VALUES, timeoutMs: 2_000, memoryMb: 128 }),
    node("count", "Transform", { expression: "$count(nodes.n0)" }),
    node("code", "Code", {
      code: "return nodes.n0.length + nodes.count",
      timeoutMs: 2_000,
      memoryMb: 128,
    }),
    node("merge", "Merge", {}),
    node("text", "Transform", { expression: "nodes.n0[99999].name" }),
    node("end", "Return", {
      value: { count: "{{ count }}", sum: "{{ code }}", text: "{{ text }}", all: "{{ n0 }}" },
    }),
  ]);
