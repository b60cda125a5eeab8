import type { EventView } from "@signalbox/contract";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { type Loadable, Loaded } from "../ui/loaded.tsx";
import { LargePayload } from "./large-payload.tsx";

export const EventPayload = ({ query }: { query: Loadable<EventView> }) => (
  <Loaded query={query} rows={6} height={28}>
    {(event) =>
      event.truncated ? (
        <LargePayload event={event} />
      ) : (
        <div className="flex h-full flex-col pb-4">
          <JsonTree value={event.payload} label="payload" searchable />
        </div>
      )
    }
  </Loaded>
);
