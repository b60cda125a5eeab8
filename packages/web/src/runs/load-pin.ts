/** Returns the output of a step as a pin. If the step has only a preview, the whole output is loaded. */
import type { Pin } from "../canvas/pins.ts";
import type { Step } from "../canvas/run-states.ts";
import { isPreview } from "./preview.ts";
import { readValue } from "./use-value.ts";

export async function loadPin(run: string, { nth, output, port }: Step): Promise<Pin> {
  const whole = isPreview(output) ? await readValue({ run, nth, field: "output" }) : output;
  return { output: whole, ...(port && { port }) };
}
