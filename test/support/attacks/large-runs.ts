/** Flows with large values. Each starts at the trigger `TRIGGER`. */
import { edge, intent, node } from "../flow-samples.ts";

export const TRIGGER = "intent Go";

const flowOf = (nodes: { id: string }[]) => ({
  name: "Large",
  nodes: [intent("Go"), ...nodes],
  edges: nodes.map(({ id }, at) => edge(nodes[at - 1]?.id ?? TRIGGER, id)),
});
const outputs = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    node(`n${at}`, "Code", { code: 'return "x".repeat(3_900_000)' }),
  );

/** Sixty outputs of 3.9 MB exceed the budget of a run. */
export const runBeyondItsBudget = () => flowOf(outputs(60));

/** 58 MB, within the budget. */
export const runOf58Megabytes = () =>
  flowOf([...outputs(15), node("end", "Return", { value: "short" })]);

/** An event of 468 MB: 120 references to one value of 3.9 MB. */
export const eventOf468Megabytes = () => {
  const data = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`f${at}`, "{{ n0 }}"]));
  return flowOf([...outputs(1), node("emit", "EmitEvent", { type: "large", data })]);
};

/** A condition on a list of 950,000 items. */
export const conditionOnLongList = () =>
  flowOf([
    node("n0", "Code", { code: "return Array(950_000).fill(1)" }),
    node("test", "Condition", {
      conditions: [{ left: "{{ n0 }}", op: "glob", right: `${"*1".repeat(499)}*2` }],
    }),
  ]);
