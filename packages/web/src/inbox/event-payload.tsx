import type { Json } from "@signalbox/rules/json.ts";
import type { EventView } from "../api/types.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { type Loadable, Loaded } from "../ui/loaded.tsx";
import { LargePayload } from "./large-payload.tsx";

export const EventPayload = ({ event }: { event: Loadable<EventView> }) => (
  <Loaded query={event} rows={6} height={28}>
    {(loaded) =>
      loaded.truncated ? (
        <LargePayload event={loaded} />
      ) : (
        <div className="flex h-full flex-col pb-4">
          <JsonTree value={loaded.payload as Json} label="payload" searchable />
        </div>
      )
    }
  </Loaded>
);
