/** What the parts of a step record are called: iterations, attempts, parts. */
import { partOf } from "@signalbox/rules/flows/step-part.ts";
import type { Step } from "../canvas/run-states.ts";

type Named = Pick<Step, "node_id" | "item">;

/** The iteration of the enclosing loops, without the name of a part. */
export const iterationOf = ({ item }: Pick<Step, "item">): string => item.split("#", 1)[0] ?? "";

/** The same for all attempts at a step, and for its parts. */
export const stepKey = (step: Named): string => `${step.node_id}\n${iterationOf(step)}`;

/** `item 3`, in nested loops `item 3.1`; empty outside of loops. */
export function iterationText(step: Pick<Step, "item">): string {
  const iteration = iterationOf(step);
  if (iteration === "") return "";
  const numbers = iteration.split("/").map((loop) => Number(loop.split(":").at(-1)) + 1);
  return `item ${numbers.join(".")}`;
}

/** `turn 1`, `tool 1.2`, `prompt`; undefined if the step is not a part of another one. */
export function partText({ item }: Pick<Step, "item">): string | undefined {
  const [name, ...numbers] = partOf(item)?.split("-") ?? [];
  return name && [name, numbers.join(".")].filter(Boolean).join(" ");
}

const ENDINGS = ["th", "st", "nd", "rd"];

/** `1st`, `2nd`, `11th` */
export function ordinal(number: number): string {
  const tens = number % 100;
  const ending = tens > 10 && tens < 14 ? "th" : (ENDINGS[number % 10] ?? "th");
  return `${number}${ending}`;
}
