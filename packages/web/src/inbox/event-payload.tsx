import type { Json } from "@signalbox/rules/json.ts";
import type { Path } from "@signalbox/rules/match/path.ts";
import type { UseQueryResult } from "@tanstack/react-query";
import type { EventView } from "../api/types.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";

export function EventPayload({
  event: { data, error, refetch },
  marked,
}: {
  event: UseQueryResult<EventView>;
  marked?: readonly Path[];
}) {
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={6} height={28} />;
  return (
    <div className="flex h-full flex-col pb-4">
      {data.truncated && (
        <p className="mb-2 type-meta text-amber">
          The first part of {bytes(data.payload_bytes ?? 0)} is shown, as text.
        </p>
      )}
      <JsonTree
        value={data.payload as Json}
        label="payload"
        searchable
        {...(marked && { marked })}
      />
    </div>
  );
}
