import { START, type Tuple } from "../../../../events/store/contract/sample.ts";
import { createIds } from "../../../../kernel/lib/ids.ts";
import type { Store } from "../../../../store.ts";
import {
  ALL_SHARES,
  type ClaimedRun,
  type NewRun,
  type RunLease,
  type RunProgress,
  type Step,
  type StepPage,
} from "../../model.ts";

export const LEASE = 60;
/** A time that no test reaches. */
export const FAR = START + 10_000_000_000_000;

const newId = createIds({ now: () => START });

export const sampleRun = (overrides: Partial<NewRun> = {}): NewRun => ({
  id: newId(),
  tenant: "acme",
  app: "desk",
  flow_id: "a flow",
  version: 1,
  trigger_node: "start",
  cause: "api",
  input: { n: 1 },
  at: START,
  due_at: START,
  depth: 0,
  ...overrides,
});

export const sampleRuns = <Count extends number>(
  count: Count,
  overrides: (index: number) => Partial<NewRun> = () => ({}),
): Tuple<Count, NewRun> =>
  Array.from({ length: count }, (_, index) => sampleRun(overrides(index))) as Tuple<Count, NewRun>;

export const lease = (worker = "ada", now = START): RunLease => ({
  worker,
  now,
  until: now + LEASE,
});

export const claim = (
  store: Store,
  { by = "ada", now = START, limit = 10, shares = ALL_SHARES } = {},
): Promise<ClaimedRun[]> => store.claimRuns(lease(by, now), limit, shares);

/** Claims runs. Throws if their number is not `count`. */
export async function claimExactly<Count extends number>(
  store: Store,
  count: Count,
  options?: { by?: string; now?: number; limit?: number },
): Promise<Tuple<Count, ClaimedRun>> {
  const claimed = await claim(store, options);
  if (claimed.length !== count) throw new Error(`claimed ${claimed.length} runs, not ${count}`);
  return claimed as Tuple<Count, ClaimedRun>;
}

export const runIds = (claimed: readonly ClaimedRun[]): string[] =>
  claimed.map(({ run }) => run.id);

/** Returns the progress of a claimed run, which `saveProgress` takes. */
export const progress = (
  { run }: Pick<ClaimedRun, "run">,
  overrides: Partial<RunProgress> = {},
): RunProgress => ({ run: run.id, claim: run.claims, steps: [], now: START, ...overrides });

export const succeeded = { status: "succeeded", output: { ok: true } } as const;
export const failed = { status: "failed", error: { code: "oops", message: "failed" } } as const;

/** Saves the progress of each run; by default, all runs succeed. Throws if a claim is lost. */
export async function save(
  store: Store,
  claimed: readonly ClaimedRun[],
  overrides: Partial<RunProgress> = { next: succeeded },
): Promise<void> {
  const outcomes = await store.saveProgress(claimed.map((run) => progress(run, overrides)));
  if (outcomes.includes("lost")) throw new Error(`lost: ${outcomes}`);
}

export const sampleStep = (overrides: Partial<Step> = {}): Step => ({
  nth: 1,
  node_id: "start",
  item: "",
  attempt: 1,
  status: "done",
  port: "out",
  input: { a: 1 },
  output: { b: 2 },
  error: null,
  log: [],
  started_at: START,
  finished_at: START,
  ...overrides,
});

/** Returns all steps of a run, from all pages. */
export async function allSteps(
  store: Pick<Store, "listSteps">,
  tenant: string,
  run: string,
): Promise<Step[]> {
  const steps: Step[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: StepPage = await store.listSteps(tenant, run, { after });
    steps.push(...page.items);
    after = page.next;
  }
  return steps;
}
