/** Returns the output of a step as a pin. If the step has only a preview, the whole output is loaded. */
import type { Json } from "@signalbox/rules/json.ts";
import { api } from "../api/client.ts";
import type { Pin } from "../canvas/pins.ts";
import type { Step } from "../canvas/run-states.ts";
import { isPreview } from "./preview.ts";
import { valuePath } from "./use-value.ts";

export async function loadPin(run: string, { nth, output, port }: Step): Promise<Pin> {
  const whole = isPreview(output)
    ? await api.get<Json>(valuePath({ run, nth, field: "output" }))
    : (output as Json);
  return { output: whole, ...(port && { port }) };
}
