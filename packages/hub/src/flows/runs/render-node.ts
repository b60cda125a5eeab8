/**
 * Renders the config of a node. References into large JSON are resolved in a job, because
 * parsing it here would block the event loop.
 */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Evaluation, EvaluationResult } from "@signalbox/rules/flows/evaluation.ts";
import { writePath } from "@signalbox/rules/flows/issues.ts";
import type { NodeDefinition, Scope } from "@signalbox/rules/flows/node-type.ts";
import { type LargeReference, renderConfig, type Selected } from "@signalbox/rules/flows/render.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import {
  type LargeJson,
  MAX_VALUE_BYTES,
  type MixedObject,
  parseIfLarge,
} from "@signalbox/rules/large-json.ts";

type EvaluateProgram = (evaluation: Evaluation) => Promise<EvaluationResult>;

/** Includes the time in which the job parses the data. */
const SELECT_TIMEOUT_MS = 10_000;

export async function renderNode(
  config: JsonObject,
  definition: Pick<NodeDefinition, "secretFields" | "rawFields">,
  scope: Scope,
  secrets: Readonly<Record<string, string>>,
  evaluate: EvaluateProgram,
): Promise<MixedObject> {
  const missing = new Map<LargeJson, Map<string, LargeReference["path"]>>();
  const selections = new Map<LargeJson, Map<string, Selected>>();
  const findSelected = ({ large, path }: LargeReference): Selected | undefined => {
    const key = writePath(path);
    const selected = selections.get(large)?.get(key);
    if (!selected) missing.set(large, (missing.get(large) ?? new Map()).set(key, path));
    return selected;
  };
  // The first rendering collects the missing references. The second one uses their values.
  const render = () => renderConfig(config, definition, scope, secrets, findSelected);
  const rendered = render();
  if (missing.size === 0) return rendered;
  for (const [large, paths] of missing) selections.set(large, await select(evaluate, large, paths));
  return render();
}

async function select(
  evaluate: EvaluateProgram,
  data: LargeJson,
  paths: ReadonlyMap<string, LargeReference["path"]>,
): Promise<Map<string, Selected>> {
  const result = await evaluate({
    job: "select",
    paths: [...paths.values()],
    maxBytes: MAX_VALUE_BYTES,
    timeoutMs: SELECT_TIMEOUT_MS,
    data,
  });
  if (!("output" in result)) {
    const isTooLarge = result.error === "selection_too_large";
    throw new Permanent(
      `Reading large JSON for a template ${result.message}. Reference a smaller part of it.`,
      {
        code: isTooLarge ? "input_too_large" : result.error,
      },
    );
  }
  const { parts: values = [] } = result;
  const reached = parseIfLarge(result.output) as number[];
  return new Map(
    [...paths.keys()].map((key, index) => [
      key,
      { value: values[index], reached: reached[index] ?? 0 },
    ]),
  );
}
