/** Keys and names of iterations, attempts and parts of steps. */
import { partOf } from "@signalbox/rules/flows/step-part.ts";
import type { Step } from "../canvas/run-states.ts";

type StepId = Pick<Step, "node_id" | "item">;

/** Whether the record belongs to a part of a step, such as a turn of an agent. */
export const isPart = ({ item }: Pick<Step, "item">): boolean => partOf(item) !== undefined;

/** The iterations of the enclosing loops, without the name of a part. */
export const iterationOf = ({ item }: Pick<Step, "item">): string => item.split("#", 1)[0] ?? "";

/** All attempts of a step, and their parts, have the same key. */
export const stepKey = (step: StepId): string => `${step.node_id}\n${iterationOf(step)}`;

/** `item 3`, in nested loops `item 3.1`; empty outside of loops. */
export function iterationText(step: Pick<Step, "item">): string {
  const iteration = iterationOf(step);
  if (iteration === "") return "";
  const numbers = iteration.split("/").map((loop) => Number(loop.split(":").at(-1)) + 1);
  return `item ${numbers.join(".")}`;
}

/** `turn 1`, `tool 1.2`, `prompt`; undefined if the record is not a part of a step. */
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
