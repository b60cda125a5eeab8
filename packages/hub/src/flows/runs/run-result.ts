import type { MaybeLarge } from "@signalbox/rules/large-json.ts";
import type { Run } from "./model.ts";

/** How a run ended, as its caller sees it. */
export type RunResult =
  | { outcome: "succeeded"; output: MaybeLarge }
  | { outcome: "failed"; message: string; code: string; node_id: string | undefined }
  | { outcome: "cancelled"; message: string };

export function toRunResult({ status, output, error }: Run): RunResult {
  if (status === "succeeded") return { outcome: "succeeded", output };
  if (status === "cancelled")
    return { outcome: "cancelled", message: error?.message ?? "The run was cancelled." };
  return {
    outcome: "failed",
    message: error?.message ?? "The run failed.",
    code: error?.code ?? "failed",
    node_id: error?.node_id,
  };
}
