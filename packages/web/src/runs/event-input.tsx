/** The event that started a run. A run stores only the id of the event. */
import { Inbox } from "lucide-react";
import { EventPayload } from "../inbox/event-payload.tsx";
import { useEvent } from "../inbox/use-event.ts";
import { ButtonLink } from "../ui/button.tsx";

export function EventInput({ id }: { id: string }) {
  const event = useEvent(id);
  return (
    <div className="flex h-full flex-col gap-2 pt-2">
      <div className="flex flex-none items-center gap-2">
        <p className="mr-auto type-meta text-ink-2">The event that started the run</p>
        <ButtonLink size="small" icon={Inbox} to={`/inbox/${id}?view=all`}>
          Open in the inbox
        </ButtonLink>
      </div>
      <div className="min-h-0 flex-1">
        <EventPayload query={event} />
      </div>
    </div>
  );
}
