/** The page of sources: webhook endpoints, the events they received, failed and rejected webhooks. */

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { AddSourceDialog } from "./add-source-dialog.tsx";
import { Redeliveries } from "./redeliveries.tsx";
import { Rejections } from "./rejections.tsx";
import { SharedEndpoints } from "./shared-endpoints.tsx";
import { SourceCard } from "./source-card.tsx";
import { groupByEndpoint } from "./source-list.ts";

export default function SourcesPage() {
  usePageTitle("Sources");
  const [isAddDialogOpen, setAddDialogOpen] = useState(false);
  const sources = useQuery({
    queryKey: ["sources"],
    queryFn: () => api.get("/api/sources"),
  });
  const kinds = useQuery({
    queryKey: ["source-kinds"],
    queryFn: () => api.get("/api/source-kinds"),
  });
  const types = useQuery({
    queryKey: ["event-types"],
    queryFn: () => api.get("/api/event-types"),
    refetchInterval: 10_000,
  });
  const received = types.data && groupByEndpoint(types.data.items);
  const kindOf = (id: string) => kinds.data?.items.find((kind) => kind.id === id);
  const addButton = (
    <Button
      look="primary"
      icon={Plus}
      disabled={!kinds.data}
      onClick={() => setAddDialogOpen(true)}
    >
      Add a source
    </Button>
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex flex-none items-center gap-3 border-line border-b px-5 py-[14px]">
        <h1 className="type-h1">Sources</h1>
        <span className="flex-1" />
        {addButton}
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-5">
        <div className="mx-auto flex max-w-[1080px] flex-col gap-8">
          <Loaded query={sources} rows={4}>
            {({ items }) =>
              items.length === 0 ? (
                <EmptyState
                  title="No endpoint with a key yet"
                  command="npx signalbox source add github"
                  actions={addButton}
                >
                  An endpoint is a URL for one sender. It has its own secret, which you can rotate.
                </EmptyState>
              ) : (
                <ul className="grid grid-cols-[repeat(auto-fill,minmax(420px,1fr))] gap-4 max-[560px]:grid-cols-1">
                  {items.map((source) => (
                    <SourceCard
                      key={source.id}
                      source={source}
                      kind={kindOf(source.kind)}
                      received={received}
                    />
                  ))}
                </ul>
              )
            }
          </Loaded>
          <SharedEndpoints kinds={kinds} received={received} />
          <Redeliveries />
          <Rejections />
        </div>
      </div>
      {isAddDialogOpen && kinds.data && (
        <AddSourceDialog kinds={kinds.data.items} onClose={() => setAddDialogOpen(false)} />
      )}
    </div>
  );
}
