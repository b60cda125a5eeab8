/** The rows of runs and steps. */
import { parseUnlessLarge, writeJson } from "@signalbox/rules/large-json.ts";
import type { Value } from "../../../kernel/store/sql.ts";
import type { Preview, Run, Step, WrittenStep } from "../model.ts";

type JsonColumn = "chain" | "input" | "output" | "error" | "gathered";

export interface RunRow
  extends Omit<
    Run,
    JsonColumn | "tenant" | "cancel_requested" | "event_id" | "parent_run" | "token_id"
  > {
  tenant_id: string;
  event_id: string | null;
  parent_run: string | null;
  token_id: string | null;
  chain: string;
  input: string;
  output: string;
  error: string;
  gathered: string;
  cancel_asked: number;
  lane: string | null;
  lane_limit: number | null;
  /** How often the run was claimed since its last progress. */
  idle_claims: number;
}

export type StepRow = Omit<Step, JsonColumn | "log"> &
  Record<"input" | "output" | "error", string> & { log?: string | null };

export const RUN_FIELDS =
  "id, tenant_id, app, flow_id, version, trigger_node, cause, run_key AS key, event_id, parent_run, token_id, depth, chain, input, " +
  "gathered, gathered_count, lane, lane_limit, status, due_at, worker, claims, idle_claims, cancel_asked, output, error, " +
  "created_at, started_at, finished_at";
const STEP_FIELDS =
  "nth, node_id, item, attempt, status, port, input, output, error, started_at, finished_at";

export const toRun = ({
  tenant_id,
  event_id,
  parent_run,
  token_id,
  cancel_asked,
  lane: _lane,
  lane_limit: _limit,
  idle_claims: _idle,
  ...row
}: RunRow): Run => ({
  ...row,
  tenant: tenant_id,
  event_id: event_id ?? undefined,
  parent_run: parent_run ?? undefined,
  token_id: token_id ?? undefined,
  chain: JSON.parse(row.chain),
  input: parseUnlessLarge(row.input) as Run["input"],
  gathered: JSON.parse(row.gathered),
  cancel_requested: cancel_asked === 1,
  output: parseUnlessLarge(row.output),
  error: JSON.parse(row.error),
});

const toStep = (row: StepRow): Step => ({
  ...row,
  input: JSON.parse(row.input),
  output: JSON.parse(row.output),
  error: JSON.parse(row.error),
  log: row.log ? JSON.parse(row.log) : [],
});

/**
 * A worker needs only the inputs of open steps. The fields have one SQL parameter: the size above which
 * the output of a step that is done is omitted.
 */
export const CLAIMED_STEP_FIELDS = STEP_FIELDS.replace(
  "input, output",
  "CASE WHEN status IN ('running', 'waiting') THEN input ELSE 'null' END AS input, " +
    "CASE WHEN octet_length(output) > ? AND status = 'done' THEN NULL ELSE output END AS output",
);
export type ClaimedStepRow = Omit<StepRow, "output"> & { output: string | null };
export const toClaimedStep = (row: ClaimedStepRow): WrittenStep => ({
  ...toStep({ ...row, input: "null", output: "null" }),
  input: parseUnlessLarge(row.input),
  output: parseUnlessLarge(row.output ?? "null"),
  ...(row.output === null && { omitted: true }),
});

/** Larger values are read as previews. */
const MAX_WHOLE_BYTES = 16 * 1024;
const PREVIEW_CHARACTERS = 200;

const ifLarge = (column: string, large: string, otherwise: string) =>
  `CASE WHEN octet_length(${column}) > ${MAX_WHOLE_BYTES} THEN ${large} ELSE ${otherwise} END`;

/**
 * The beginning of a value that can be large; null if the value cannot be. It is stored in a separate
 * column, because to select the beginning of a value, the engines read the whole value. A character has at
 * most 3 bytes in UTF-8.
 */
export const startOf = (text: string): string | null =>
  text.length * 3 > MAX_WHOLE_BYTES ? text.slice(0, PREVIEW_CHARACTERS).toWellFormed() : null;

/** Selects the text of a column. If the text is large, selects its beginning and its size. */
const previewOf = (column: string) =>
  `${ifLarge(column, `coalesce(${column}_start, substr(${column}, 1, ${PREVIEW_CHARACTERS}))`, column)} AS ${column}, ` +
  `${ifLarge(column, `octet_length(${column})`, "NULL")} AS ${column}_bytes`;

const withPreviews = (fields: string): string =>
  fields
    .split(", ")
    .map((field) => (field === "input" || field === "output" ? previewOf(field) : field))
    .join(", ");

/**
 * The approximate cost of a value in a page. A large value costs its preview and a fraction of its size,
 * because SQLite must read the value to reach the next column.
 */
const previewBytes = (column: string) =>
  ifLarge(
    column,
    `${PREVIEW_CHARACTERS} + octet_length(${column}) / 64`,
    `octet_length(${column})`,
  );
/** The approximate size of a step in a response: its values, and the names of its fields. */
export const STEP_PREVIEW_BYTES =
  `300 + ${previewBytes("input")} + ${previewBytes("output")} + ` +
  "octet_length(error) + coalesce(octet_length(log), 0)";

type WithSizes<Row> = Row & { input_bytes: number | null; output_bytes: number | null };

/** Replaces large values by `Preview`s. */
const applyPreviews = <Row extends Record<"input" | "output", string>>({
  input_bytes,
  output_bytes,
  ...row
}: WithSizes<Row>) => ({
  ...row,
  input: previewText(row.input, input_bytes),
  output: previewText(row.output, output_bytes),
});

const previewText = (text: string, bytes: number | null): string =>
  bytes === null
    ? text
    : JSON.stringify({ $preview: text.toWellFormed(), bytes } satisfies Preview);

export type RunPreviewRow = WithSizes<RunRow>;
export type StepPreviewRow = WithSizes<StepRow>;
export const toRunPreview = (row: RunPreviewRow): Run => toRun(applyPreviews(row) as RunRow);
export const toStepPreview = (row: StepPreviewRow): Step => toStep(applyPreviews(row) as StepRow);

const STEP_FIELDS_WITH_LOG = `${STEP_FIELDS}, log`;
export const RUN_PREVIEW_FIELDS = withPreviews(RUN_FIELDS).replace(
  "gathered,",
  "'[]' AS gathered,",
);
export const STEP_PREVIEW_FIELDS = withPreviews(STEP_FIELDS_WITH_LOG);
export const STEP_COLUMNS = [
  "run_id",
  ...STEP_FIELDS_WITH_LOG.split(", "),
  "input_start",
  "output_start",
];

export function stepValues(run: string, step: WrittenStep): Value[] {
  const [input, output] = [writeJson(step.input), writeJson(step.output)];
  return [
    run,
    step.nth,
    step.node_id,
    step.item,
    step.attempt,
    step.status,
    step.port,
    input,
    output,
    JSON.stringify(step.error),
    step.started_at,
    step.finished_at,
    step.log.length > 0 ? JSON.stringify(step.log) : null,
    startOf(input),
    startOf(output),
  ];
}
