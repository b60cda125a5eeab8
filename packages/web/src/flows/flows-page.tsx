/** The page with all flows, grouped by app. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Plus, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { api } from "../api/client.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { useQueue } from "../runs/use-queue.ts";
import { nameOfSender } from "../triggers/senders.ts";
import { useSenders } from "../triggers/use-senders.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { plural } from "../ui/format.ts";
import { Segments } from "../ui/segments.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { FlowCard } from "./flow-card.tsx";
import { type FlowView, groupByApp, selectFlows } from "./flow-list.ts";
import { NewFlowDialog } from "./new-flow-dialog.tsx";
import { useApps } from "./use-apps.ts";

const VIEWS: readonly { value: FlowView; label: string }[] = [
  { value: "all", label: "All" },
  { value: "published", label: "Published" },
  { value: "drafts", label: "Drafts" },
  { value: "attention", label: "Needs attention" },
];

export default function FlowsPage() {
  usePageTitle("Flows");
  const [text, setText] = useState("");
  const [view, setView] = useState<FlowView>("all");
  const [isCreating, setCreating] = useState(false);
  const apps = useApps();
  const { senders } = useSenders();
  const queue = useQueue();
  const flows = useInfiniteQuery({
    queryKey: ["flows", "all"],
    queryFn: ({ pageParam }) => api.get("/api/flows", { query: { limit: 100, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const all = useMemo(() => flows.data?.pages.flatMap(({ items }) => items) ?? [], [flows.data]);
  const groups = groupByApp(selectFlows(all, view, text), apps.data?.items ?? []);
  const newFlow = (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      New flow
    </Button>
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex flex-none flex-wrap items-center gap-3 border-line border-b px-5 py-[14px]">
        <h1 className="mr-4 type-h1">Flows</h1>
        <label className="relative w-[280px] min-w-[160px]">
          <span className="sr-only">Search flows</span>
          <Search className="icon absolute top-2 left-[10px] text-ink-3" aria-hidden />
          <input
            type="search"
            className="input pl-[34px]"
            placeholder="Search names and tools"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <Segments label="Which flows" value={view} options={VIEWS} onChange={setView} />
        <span className="flex-1" />
        {newFlow}
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-5">
        {flows.isPending ? (
          <SkeletonRows rows={5} />
        ) : flows.error && all.length === 0 ? (
          <ErrorState error={flows.error} onRetry={() => void flows.refetch()} />
        ) : all.length === 0 ? (
          <EmptyState title="No flow yet" command="npx signalbox flows push DIR" actions={newFlow}>
            A flow starts on events, on a schedule, or when an agent calls its tool, and runs its
            nodes in order. Draw one, or push a folder of flows.
          </EmptyState>
        ) : groups.length === 0 ? (
          <EmptyState
            title="No flow matches"
            actions={
              <Button
                onClick={() => {
                  setText("");
                  setView("all");
                }}
              >
                Show all flows
              </Button>
            }
          />
        ) : (
          groups.map(({ app, flows }) => (
            <section key={app.slug} className="mb-8" aria-label={app.name}>
              <div className="mb-3 flex flex-wrap items-center gap-x-3">
                <h2 className="type-h2">{app.name}</h2>
                <span className="type-meta text-ink-3">{plural(flows.length, "flow")}</span>
                <span className="track min-w-6 flex-1 opacity-50" aria-hidden />
                <span className="flex min-w-0 items-center gap-3">
                  <code className="wrap-anywhere text-ink-2">/mcp/{app.slug}</code>
                  <CopyButton
                    text={`${location.origin}/mcp/${app.slug}`}
                    label={`Copy the address of the MCP server ${app.name}`}
                  />
                </span>
              </div>
              <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(320px,100%),1fr))] gap-4">
                {flows.map((flow) => (
                  <FlowCard
                    key={flow.id}
                    flow={flow}
                    waiting={queue?.flows.find(({ flow_id }) => flow_id === flow.id)}
                    nameOf={(source) => nameOfSender(source, senders)}
                  />
                ))}
              </ul>
            </section>
          ))
        )}
        {flows.hasNextPage && (
          <Button busy={flows.isFetchingNextPage} onClick={() => void flows.fetchNextPage()}>
            Load more flows
          </Button>
        )}
      </div>
      {isCreating && <NewFlowDialog onClose={() => setCreating(false)} />}
    </div>
  );
}
