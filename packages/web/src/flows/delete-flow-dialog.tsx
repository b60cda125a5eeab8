/** Asks before it deletes a flow, and offers to download the flow first. */

import type { FlowItem } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { Download, Trash2 } from "lucide-react";
import { api, path } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { plural } from "../ui/format.ts";
import { toasts } from "../ui/toast.tsx";
import { downloadFlow } from "./flow-card.tsx";

export function DeleteFlowDialog({ flow, onClose }: { flow: FlowItem; onClose: () => void }) {
  const remove = useMutation({
    mutationFn: () => api.delete(path`/api/flows/${flow.id}`),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["flows"] });
      toasts.add({ aspect: "green", title: `“${flow.name}” was deleted` });
      onClose();
    },
  });
  const tools = flow.exposedTools.length;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete “${flow.name}”?`}
      description={
        tools > 0
          ? `Agents can no longer call its ${plural(tools, "tool")}, and its triggers no longer start runs. Past runs are kept.`
          : "Its triggers no longer start runs. Past runs are kept."
      }
      actions={
        <>
          <Button icon={Download} onClick={() => void downloadFlow(flow)}>
            Download it first
          </Button>
          <span className="flex-1" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="danger"
            icon={Trash2}
            busy={remove.isPending}
            onClick={() => remove.mutate()}
          >
            Delete
          </Button>
        </>
      }
    >
      {remove.error && <ErrorState error={remove.error} compact />}
    </Dialog>
  );
}
