/** The dialog that creates a condition from a value in the payload of an event. */

import type { Json } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { conditionAt } from "./condition-at.ts";

const MAX_PAYLOAD_BYTES = 1024 * 1024;

export function PathDialog({
  event,
  onPick,
  onClose,
}: {
  event: string;
  onPick: (path: string, param: Json) => void;
  onClose: () => void;
}) {
  const { data, error, refetch } = useQuery({
    queryKey: ["events", event, "picked"],
    queryFn: () =>
      api.get("/api/events/:event", { params: { event }, query: { max_bytes: MAX_PAYLOAD_BYTES } }),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Pick from an event"
      description="The newest event of this source. Choose a value to add a condition for it."
      className="w-[680px]"
    >
      {error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data?.truncated ? (
        <p className="text-ink-2">
          The newest event has {bytes(data.size)}, which is too large to show here. Add a condition
          and enter its path instead.
        </p>
      ) : data ? (
        <JsonTree
          value={data.payload}
          label="payload"
          searchable
          maxRows={20}
          onPick={(_, keys) => {
            const { path, param } = conditionAt(data.payload, keys);
            onPick(path, param);
            onClose();
          }}
        />
      ) : (
        <SkeletonRows rows={6} height={28} />
      )}
    </Dialog>
  );
}
