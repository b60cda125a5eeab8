/** The output of a step as a pin, loaded first if the page has only its beginning. */
import type { Json } from "@signalbox/rules/json.ts";
import { api } from "../api/client.ts";
import type { Pin } from "../canvas/pins.ts";
import type { Step } from "../canvas/run-states.ts";
import { isPreview } from "./preview.ts";
import { valuePath } from "./use-value.ts";

export async function pinOutput(run: string, { nth, output, port }: Step): Promise<Pin> {
  const whole = isPreview(output)
    ? await api.get<Json>(valuePath({ run, nth, field: "output" }))
    : (output as Json);
  return { output: whole, ...(port && { port }) };
}
