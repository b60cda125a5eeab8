/** One node to its end, with all attempts at it, and all that it waits for. */
import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import { ERROR_PORT, type NodeResult, type Resumed } from "@signalbox/rules/flows/node-type.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { type Attempted, attempt, splitParameters, unknownType } from "./attempt.ts";
import { type Course, firstPort, type Site, scopeOf } from "./course.ts";
import { inputsOf } from "./frame.ts";
import {
  CALLED_OFF,
  done,
  Failure,
  failed,
  Over,
  restOf,
  type StepRecord,
  triedIn,
  waiting,
} from "./step-records.ts";

type Each = Extract<NodeResult, { each: unknown }>["each"];

/** Walks the rounds of a loop; answers with the result of each. */
export type GoRounds = (site: Site, loop: string, each: Each) => Promise<Json[]>;

/** Sets the node's state; answers with what is left to record of it. Throws `Failure`, or `Over`. */
export async function runNode(
  course: Course,
  site: Site,
  id: string,
  goRounds: GoRounds,
): Promise<StepRecord[]> {
  const { ledger, naps, now } = course;
  const { frame, signal } = site;
  const { settings } = splitParameters(course.node(id));
  const records = ledger.earlier(frame.item, id);
  const tried = triedIn(records);
  let resumed: Resumed | undefined;
  let since: number | undefined;

  const rest = restOf(records);
  if (rest) {
    if (rest.due !== null && rest.due > now()) await naps.until(rest.due, signal);
    if (rest.kind === "wait") ({ resumed, since } = rest);
  }
  for (;;) {
    if (signal.aborted) throw new Over();
    const place = {
      node_id: id,
      item: frame.item,
      attempt: tried.attempt,
      started_at: since ?? now(),
    };
    const outcome = await oneAttempt(course, site, id, tried.attempt, resumed, goRounds);
    if (signal.aborted) throw new Over();

    if ("result" in outcome) {
      const { input, result, mask, log } = outcome;
      if ("wait" in result) {
        const wait = { ...result.wait, state: mask.json(result.wait.state ?? null) };
        await ledger.write([waiting(place, input, wait)]);
        await naps.until(wait.until, signal);
        [resumed, since] = [{ state: wait.state }, place.started_at];
        continue;
      }
      const { port = firstPort(course, id), output } = result;
      const state = { port, output };
      frame.states.set(id, { status: "done", ...state });
      return [done(place, { ...state, input, log }, now())];
    }

    const { input, error, log, before = [] } = outcome;
    tried.failures += 1;
    const retryAt = whenAgain(outcome.retryAt, tried.failures, settings.retries, now);
    const step = failed(place, { input, error, log, retryAt }, now());
    if (retryAt !== undefined) {
      await ledger.write([...before, step]);
      await naps.until(retryAt, signal);
      tried.attempt += 1;
      [resumed, since] = [undefined, undefined];
      continue;
    }
    const port = whereErrorsGo(course, id, settings.continueOnError === true);
    if (port === undefined) throw new Failure(error, [...before, step]);
    const state = { status: "done", port, output: errorOutput(error) } as const;
    frame.states.set(id, state);
    return [...before, { ...step, ...state }];
  }
}

/** A result that goes on somewhere, or waits; rounds are walked already. */
type Outcome = Attempted<Exclude<NodeResult, { each: unknown }>> & {
  /** Steps of its rounds that have yet to be recorded. */
  before?: readonly StepRecord[];
};

async function oneAttempt(
  course: Course,
  site: Site,
  id: string,
  nth: number,
  resumed: Resumed | undefined,
  goRounds: GoRounds,
): Promise<Outcome> {
  const { run, reach, now } = course;
  const node = course.node(id);
  const definition = course.definition(id);
  if (!definition) return unknownType(node);
  const inputs = inputsOf(course.layout, site.frame, id, (other) => course.node(other).slug);
  const key = idempotencyKey(run.id, id, site.frame.item);
  let left: AbortController | undefined;
  const asking = () => {
    left ??= new AbortController();
    return { key, attempt: nth, left: left.signal };
  };
  let hasCalled = false;
  const attempted = await attempt({
    tenant: run.tenant,
    node,
    definition,
    scope: scopeOf(course, site),
    signal: site.signal,
    secrets: course.secrets,
    flowSecrets: course.flowSecrets,
    defaultTimeoutMs: course.stepTimeoutMs,
    evaluate: reach.evaluate,
    context: {
      ...reach,
      input: inputs.length === 1 ? (inputs[0]?.output ?? null) : bySlug(inputs),
      inputs,
      run: { id: run.id, flowId: run.flow_id, nodeId: id, slug: node.slug, attempt: nth },
      idempotencyKey: key,
      ...(resumed && { resumed }),
      now,
      emit: (event) => reach.emit(run, event, asking()),
      callFlow(call) {
        hasCalled = true;
        return reach.callFlow(run, call, asking());
      },
    },
  });
  if (hasCalled) {
    const { aborted, reason } = site.signal;
    if (!aborted || reason === CALLED_OFF) left?.abort();
    if (!aborted) await course.takePlace();
  }
  if (!("result" in attempted)) return attempted;
  const { result, ...rest } = attempted;
  if ("wait" in result) return { ...rest, result };
  if (!("each" in result)) return kept({ ...rest, result }, id);
  try {
    return kept({ ...rest, result: { output: await goRounds(site, id, result.each) } }, id);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The rounds that are done stay so; trying again is for whoever failed in one.
    return { ...rest, error: error.error, retryAt: "never", before: error.steps };
  }
}

const LARGEST_MB = 16;

/** What is masked in the record is so for the nodes after it, too: they could pass it on. */
function kept(
  { result, ...rest }: Extract<Outcome, { result: unknown }> & { result: { output: Json } },
  node_id: string,
): Outcome {
  let error = {
    code: "output_too_large",
    message: `The output of a step may be at most ${LARGEST_MB} MB as JSON: let it answer with less.`,
  };
  try {
    const output = rest.mask.json(result.output);
    // Without `?? ""`, an output that was left out would count as one that is no JSON.
    if ((JSON.stringify(output) ?? "").length <= LARGEST_MB * 1_000_000)
      return { ...rest, result: { ...result, output } };
  } catch (reason) {
    if (!(reason instanceof RangeError))
      error = { code: "output_not_json", message: `The output is no JSON: ${reason}` };
  }
  return { ...rest, error: { ...error, node_id }, retryAt: "never" };
}

function whereErrorsGo(course: Course, id: string, goesOn: boolean): string | undefined {
  const edges = course.layout.graph.outgoing(id);
  if (edges.some(({ sourceHandle }) => sourceHandle === ERROR_PORT)) return ERROR_PORT;
  return goesOn ? firstPort(course, id) : undefined;
}

const LONGEST_BACKOFF_MS = 3_600_000;

function whenAgain(
  wanted: number | "backoff" | "never",
  failures: number,
  { attempts = 1, backoffMs = 0 }: { attempts?: number; backoffMs?: number } = {},
  now: () => number,
): number | undefined {
  if (wanted === "never" || failures >= attempts) return undefined;
  if (wanted !== "backoff") return wanted;
  return now() + Math.min(backoffMs * 2 ** (failures - 1), LONGEST_BACKOFF_MS);
}

/** The same on every attempt, whoever makes it. */
const idempotencyKey = (run: string, node: string, item: string): string =>
  item === "" ? `${run}:${node}` : `${run}:${node}:${item}`;

const bySlug = (inputs: readonly { slug: string; output: Json }[]): JsonObject =>
  Object.fromEntries(inputs.map(({ slug, output }) => [slug, output]));
