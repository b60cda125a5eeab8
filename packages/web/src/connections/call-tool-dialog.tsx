/** Calls a tool of a connection with arguments as JSON. */
import type { Json } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import { api, path } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";

export function CallToolDialog({
  connection,
  tool,
  onClose,
}: {
  connection: string;
  tool: string;
  onClose: () => void;
}) {
  const [text, setText] = useState("{}");
  const call = useMutation({
    mutationFn: () =>
      api.post<Json>(path`/api/connections/${connection}/tools/${tool}`, {
        arguments: JSON.parse(text) as Json,
      }),
  });
  const problem = problemOf(text);
  return (
    <Dialog open onClose={onClose} title={`Call ${tool}`} className="w-[640px]">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          call.mutate();
        }}
      >
        <Field label="Arguments" error={problem}>
          {(control) => (
            <TextArea
              {...control}
              code
              rows={6}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {call.error && <ErrorState error={call.error} />}
        {call.data !== undefined && <JsonTree value={call.data} label="result" maxRows={16} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button
            type="submit"
            look="primary"
            icon={Play}
            busy={call.isPending}
            disabled={problem !== undefined}
          >
            Call
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function problemOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? undefined
      : "must be an object";
  } catch (error) {
    return (error as Error).message;
  }
}
