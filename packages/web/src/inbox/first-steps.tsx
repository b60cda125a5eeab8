/** The guided path of a new hub: each step is done inside the product, and is ticked by what happened. */
import { useQuery } from "@tanstack/react-query";
import { Bot, Eye, Send, Workflow, X } from "lucide-react";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import type { EventItem, FlowSummary, Page, RunItem } from "../api/types.ts";
import { setFlag, useFlag } from "../app/flags.ts";
import { useIsAdmin } from "../app/session.ts";
import { NewFlowDialog } from "../flows/new-flow-dialog.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { toastError } from "../ui/toast.tsx";
import { Track } from "../ui/track.tsx";
import { pathOf, type Step } from "./guided-path.ts";
import { useSendTest } from "./send-test.tsx";
import { statsQuery } from "./strip.tsx";

const STEPS: Record<Step, { name: string; teaches: string; action: string; icon: typeof Send }> = {
  send: {
    name: "Send a test event",
    teaches: "The hub signs a sample and sends it to itself, as a webhook of GitHub would arrive.",
    action: "Send test event",
    icon: Send,
  },
  see: {
    name: "See it",
    teaches: "Open the event: its payload, its headers, and why it started a flow or not.",
    action: "Open the newest event",
    icon: Eye,
  },
  make: {
    name: "Make a flow",
    teaches: "A flow starts on events, on a schedule, or when an agent calls its tool.",
    action: "Make a flow",
    icon: Workflow,
  },
  call: {
    name: "Call it from an agent",
    teaches: "Publish a flow with a user intent, connect an agent, and let it call the tool.",
    action: "Connect an agent",
    icon: Bot,
  },
};

export function FirstSteps() {
  const isAdmin = useIsAdmin();
  // The path makes flows, which members cannot.
  const isHidden = useFlag("path-hidden") || !isAdmin;
  const hasSeen = useFlag("event-seen");
  const [isMaking, setMaking] = useState(false);
  const [, navigate] = useLocation();
  const sendTest = useSendTest();
  const stats = useQuery({ ...statsQuery, enabled: !isHidden });
  const flows = useQuery({
    queryKey: ["flows", "first"],
    queryFn: () => api.get<Page<FlowSummary>>("/api/flows", { limit: 1 }),
    enabled: !isHidden,
  });
  const runs = useQuery({
    queryKey: ["runs", "newest"],
    queryFn: () => api.get<Page<RunItem>>("/api/runs", { limit: 100 }),
    enabled: !isHidden,
  });
  const path =
    stats.data && flows.data && runs.data
      ? pathOf({
          events: stats.data.events.total,
          hasSeen,
          flows: flows.data.items.length,
          hasCalled: runs.data.items.some(({ cause }) => cause === "tool"),
        })
      : undefined;
  const isAtEnd = path !== undefined && path.now === undefined;
  // Later, no run among the newest may be a call.
  useEffect(() => {
    if (isAtEnd) setFlag("path-hidden");
  }, [isAtEnd]);
  if (isHidden || !path?.now) return null;
  const { teaches, action, icon } = STEPS[path.now];
  const actions: Record<Step, () => void> = {
    send: sendTest,
    see: () =>
      void api
        .get<Page<EventItem>>("/api/events", { limit: 1 })
        .then(({ items: [newest] }) => newest && navigate(`/inbox/${newest.id}?view=all`))
        .catch(toastError),
    make: () => setMaking(true),
    call: () => navigate("/connect"),
  };
  return (
    <section
      aria-label="First steps"
      className="flex items-start gap-6 border-line border-b bg-plate px-5 pt-4 pb-3 max-[900px]:flex-col"
    >
      <div className="min-w-0 flex-1 self-stretch">
        <Track
          label="First steps"
          stations={path.steps.map(({ step, state }) => ({
            key: step,
            name: STEPS[step].name,
            state,
          }))}
        />
      </div>
      <div className="flex w-[460px] max-w-full items-center gap-3">
        <p className="flex-1 type-meta text-ink-2">{teaches}</p>
        <Button look="primary" icon={icon} onClick={actions[path.now]}>
          {action}
        </Button>
        <IconButton
          size="small"
          icon={X}
          label="Hide the first steps"
          onClick={() => setFlag("path-hidden")}
        />
      </div>
      {isMaking && <NewFlowDialog onClose={() => setMaking(false)} />}
    </section>
  );
}
