/** Creates a flow: asks for its name and app, then opens it in the editor. */

import { useMutation } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { Field, SelectInput, TextInput } from "../ui/field.tsx";
import { useApps } from "./use-apps.ts";

export interface NewFlow {
  name: string;
  nodes?: { type: string; name: string; parameters: Record<string, unknown> }[];
}

/** The value of the option that creates an app. */
const NEW_APP = "";

export function NewFlowDialog({
  start = { name: "" },
  title = "New flow",
  description = "A flow belongs to an app. Each app is one MCP server, which offers the tools of its flows.",
  onClose,
}: {
  start?: NewFlow;
  title?: string;
  description?: ReactNode;
  onClose: () => void;
}) {
  const [, navigate] = useLocation();
  const { data: apps, error: appsError } = useApps();
  const [name, setName] = useState(start.name);
  const [chosenApp, setChosenApp] = useState<string>();
  const [appName, setAppName] = useState("Desk");
  const app = chosenApp ?? apps?.items[0]?.slug ?? NEW_APP;
  const create = useMutation({
    mutationFn: async () => {
      let slug = app;
      if (app === NEW_APP) {
        slug = (await api.post("/api/apps", { body: { name: appName.trim() } })).slug;
        // If the flow is rejected, the next attempt uses this app.
        setChosenApp(slug);
        await queryClient.invalidateQueries({ queryKey: ["apps"] });
      }
      return api.post("/api/apps/:app/flows", {
        params: { app: slug },
        body: {
          name: name.trim(),
          ...(start.nodes && {
            nodes: start.nodes.map((node) => ({ ...node, position: { x: 96, y: 128 } })),
          }),
        },
      });
    },
    onSuccess: ({ id }) => {
      void queryClient.invalidateQueries({ queryKey: ["flows"] });
      onClose();
      navigate(`/flows/${id}`);
    },
  });
  const isReady =
    apps !== undefined && name.trim() !== "" && (app !== NEW_APP || appName.trim() !== "");
  return (
    <Dialog open onClose={onClose} title={title} description={description}>
      <DialogForm
        submit="Create the flow"
        icon={Workflow}
        request={{ error: create.error ?? appsError, isPending: create.isPending }}
        isReady={isReady}
        onSubmit={() => create.mutate()}
        onClose={onClose}
      >
        <Field label="Name of the flow" required>
          {(control) => (
            <TextInput
              {...control}
              autoFocus
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder="Issue triage"
            />
          )}
        </Field>
        <Field label="App" hint="Agents connect to /mcp/APP.">
          {(control) => (
            <SelectInput
              {...control}
              value={app}
              onChange={(event) => setChosenApp(event.target.value)}
            >
              {apps?.items.map(({ slug, name }) => (
                <option key={slug} value={slug}>
                  {name} (/mcp/{slug})
                </option>
              ))}
              <option value={NEW_APP}>New app…</option>
            </SelectInput>
          )}
        </Field>
        {app === NEW_APP && (
          <Field label="Name of the new app" required>
            {(control) => (
              <TextInput
                {...control}
                maxLength={200}
                value={appName}
                onChange={(event) => setAppName(event.target.value)}
              />
            )}
          </Field>
        )}
      </DialogForm>
    </Dialog>
  );
}
