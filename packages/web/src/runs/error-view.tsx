/** The error of a step or a run: the message of the node or server, the code, and details. */
import { Chip } from "../ui/chip.tsx";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import type { RunFields } from "./run-data.ts";

export function ErrorView({ error }: { error: NonNullable<RunFields["error"]> }) {
  return (
    <div className="flex flex-col gap-3 pt-3 pb-4">
      <p className="wrap-anywhere whitespace-pre-wrap text-red" dir="auto">
        {error.message}
      </p>
      <div>
        <Chip>{error.code}</Chip>
      </div>
      {error.details !== undefined && (
        <div>
          <h3 className="mb-1 type-label text-ink-3">Details</h3>
          <JsonTree value={error.details} label="Details of the error" maxRows={20} />
        </div>
      )}
    </div>
  );
}
