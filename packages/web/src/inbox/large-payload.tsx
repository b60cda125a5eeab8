/** Shows the JSON of a payload that is too large for a tree as text, and loads it in parts. */

import type { EventView } from "@signalbox/contract";
import { pathWith } from "@signalbox/contract/client.ts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { api, fileUrl } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes } from "../ui/format.ts";

/** More text makes the page slow; the whole event can still be downloaded. */
const MAX_PARTS = 8;

/** `event.payload` is the first part of the text. */
export function LargePayload({ event }: { event: EventView }) {
  const [isMoreWanted, setMoreWanted] = useState(false);
  const params = { event: event.id };
  const more = useInfiniteQuery({
    queryKey: ["event-payload", event.id],
    queryFn: ({ pageParam, signal }) =>
      api.get("/api/events/:event", { params, query: { offset: pageParam }, signal }),
    initialPageParam: event.next_offset ?? 0,
    getNextPageParam: ({ next_offset }, parts) =>
      parts.length < MAX_PARTS - 1 ? (next_offset ?? undefined) : undefined,
    enabled: isMoreWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const parts = [event, ...(more.data?.pages ?? [])];
  const size = event.payload_bytes ?? 0;
  const shown = parts.at(-1)?.next_offset ?? size;
  const hasMore = more.data ? more.hasNextPage : shown < size;
  return (
    <div className="flex flex-col gap-2 pb-4">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto type-meta text-ink-2" role="status">
          The first {bytes(shown)} of {bytes(size)}, as text
        </p>
        {hasMore && (
          <Button
            size="small"
            busy={more.isFetching}
            onClick={() => (isMoreWanted ? void more.fetchNextPage() : setMoreWanted(true))}
          >
            Load more
          </Button>
        )}
        <a
          className="btn small square"
          href={fileUrl(pathWith("/api/events/:event", params))}
          download={`event-${event.id}.json`}
          title="Download"
          aria-label="Download the event"
        >
          <Download className="icon" aria-hidden />
        </a>
      </div>
      {more.error && <ErrorState compact error={more.error} onRetry={() => void more.refetch()} />}
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long text must be scrollable by keyboard
        tabIndex={0}
        className="wrap-anywhere whitespace-pre-wrap rounded-tile border border-line bg-sunk p-3"
      >
        {parts.map(({ payload }) => String(payload)).join("")}
      </pre>
    </div>
  );
}
