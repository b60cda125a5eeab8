/** Asks before it deletes a flow, and offers to download the flow first. */

import type { FlowItem } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { Download, Trash2 } from "lucide-react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";

export function DeleteFlowDialog({ flow, onClose }: { flow: FlowItem; onClose: () => void }) {
  const remove = useMutation({
    mutationFn: () => api.delete("/api/flows/:flow", { params: { flow: flow.id } }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["flows"] });
      toasts.add({ aspect: "green", title: `“${flow.name}” was deleted` });
      onClose();
    },
  });
  const tools = flow.exposed_tools.length;
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

/** Downloads the flow as a JSON file that can be imported again. */
export async function downloadFlow(flow: Pick<FlowItem, "id" | "name">): Promise<void> {
  try {
    const exported = await api.get("/api/flows/:flow/export", { params: { flow: flow.id } });
    const blob = new Blob([JSON.stringify(exported, null, 2)], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${flow.name.replaceAll(/[^\w-]+/g, "-")}.json`;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    toastError(error);
  }
}
