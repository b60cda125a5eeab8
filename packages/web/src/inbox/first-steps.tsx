/** The guided path of a new hub. A step is marked as done when the event, the flow or the call exists. */

import { useQuery } from "@tanstack/react-query";
import { Bot, Eye, Send, Workflow, X } from "lucide-react";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { setFlag, useFlag } from "../app/flags.ts";
import { useIsAdmin } from "../app/session.ts";
import { NewFlowDialog } from "../flows/new-flow-dialog.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { toastError } from "../ui/toast.tsx";
import { Track } from "../ui/track.tsx";
import { guidedPathOf, type Step } from "./guided-path.ts";
import { statsQuery } from "./inbox-header.tsx";
import { useSendTest } from "./send-test.tsx";

const STEPS: Record<
  Step,
  { name: string; description: string; action: string; icon: typeof Send }
> = {
  send: {
    name: "Send a test event",
    description: "The hub signs a sample event and sends it to itself, like a webhook of GitHub.",
    action: "Send test event",
    icon: Send,
  },
  see: {
    name: "See the event",
    description:
      "Open the event to see its payload, its headers, and why it started a flow or not.",
    action: "Open the newest event",
    icon: Eye,
  },
  make: {
    name: "Make a flow",
    description: "A flow starts on events, on a schedule, or when an agent calls its tool.",
    action: "Make a flow",
    icon: Workflow,
  },
  call: {
    name: "Call the flow from an agent",
    description:
      "Publish a flow with the trigger “MCP tool”, connect an agent, and let it call the flow’s tool.",
    action: "Connect an agent",
    icon: Bot,
  },
};

export function FirstSteps() {
  const isAdmin = useIsAdmin();
  // One step creates a flow, which members may not do.
  const isHidden = useFlag("path-hidden") || !isAdmin;
  const hasSeenEvent = useFlag("event-seen");
  const [isFlowDialogOpen, setFlowDialogOpen] = useState(false);
  const [, navigate] = useLocation();
  const sendTest = useSendTest();
  const stats = useQuery({ ...statsQuery, enabled: !isHidden });
  const flows = useQuery({
    queryKey: ["flows", "first"],
    queryFn: () => api.get("/api/flows", { query: { limit: 1 } }),
    enabled: !isHidden,
  });
  const runs = useQuery({
    queryKey: ["runs", "newest"],
    queryFn: () => api.get("/api/runs", { query: { limit: 100 } }),
    enabled: !isHidden,
  });
  const guidedPath =
    stats.data && flows.data && runs.data
      ? guidedPathOf({
          events: stats.data.events.total,
          hasSeenEvent,
          flows: flows.data.items.length,
          hasToolCall: runs.data.items.some(({ cause }) => cause === "tool"),
        })
      : undefined;
  const isFinished = guidedPath !== undefined && guidedPath.current === undefined;
  // Without the flag, the path would return when the newest runs contain no tool call any more.
  useEffect(() => {
    if (isFinished) setFlag("path-hidden");
  }, [isFinished]);
  if (isHidden || !guidedPath?.current) return null;
  const { description, action, icon } = STEPS[guidedPath.current];
  const actions: Record<Step, () => void> = {
    send: sendTest,
    see: () =>
      void api
        .get("/api/events", { query: { limit: 1 } })
        .then(({ items: [newest] }) => newest && navigate(`/inbox/${newest.id}?view=all`))
        .catch(toastError),
    make: () => setFlowDialogOpen(true),
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
          stations={guidedPath.steps.map(({ step, state }) => ({
            key: step,
            name: STEPS[step].name,
            state,
          }))}
        />
      </div>
      <div className="flex w-[460px] max-w-full items-center gap-3">
        <p className="flex-1 type-meta text-ink-2">{description}</p>
        <Button look="primary" icon={icon} onClick={actions[guidedPath.current]}>
          {action}
        </Button>
        <IconButton
          size="small"
          icon={X}
          label="Hide the first steps"
          onClick={() => setFlag("path-hidden")}
        />
      </div>
      {isFlowDialogOpen && <NewFlowDialog onClose={() => setFlowDialogOpen(false)} />}
    </section>
  );
}
