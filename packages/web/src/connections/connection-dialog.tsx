/** Adds or changes a connection. The hub checks the server immediately. */

import type { ConnectionDetails } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { Plus, RefreshCw } from "lucide-react";
import { useId, useState } from "react";
import { api } from "../api/client.ts";
import { fieldErrors } from "../api/problem.ts";
import { queryClient } from "../app/query-client.ts";
import { useSession } from "../app/session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextArea, TextInput } from "../ui/field.tsx";
import { Segments } from "../ui/segments.tsx";
import { AccessFields } from "./access-fields.tsx";
import { bodyOf, emptyForm, formOf, isComplete, namesIn } from "./connection-form.ts";
import { PairFields } from "./pair-fields.tsx";

/** The paths of errors that are shown at a field. Other errors are shown below the form. */
const FIELD_PATHS = new Set(
  "name url command args auth.token auth.client_id auth.client_secret auth.token_url auth.scope auth.audience".split(
    " ",
  ),
);

export function ConnectionDialog({
  connection,
  onClose,
  onSaved,
}: {
  /** Undefined for a new connection. */
  connection?: ConnectionDetails;
  onClose: () => void;
  onSaved: (saved: ConnectionDetails) => void;
}) {
  const formId = useId();
  const { data: session } = useSession();
  const [form, setForm] = useState(() => (connection ? formOf(connection) : emptyForm));
  const change = (fields: Partial<typeof form>) => setForm((before) => ({ ...before, ...fields }));
  const save = useMutation({
    mutationFn: () =>
      connection
        ? api.patch("/api/connections/:connection", {
            params: { connection: connection.id },
            body: bodyOf(form, connection),
          })
        : api.post("/api/connections", { body: bodyOf(form) }),
    onSuccess: (saved) => {
      void queryClient.invalidateQueries({ queryKey: ["connections"] });
      onClose();
      onSaved(saved);
    },
  });
  const errors = fieldErrors(save.error);
  const isShownAtFields =
    errors.size > 0 && [...errors.keys()].every((each) => FIELD_PATHS.has(each));
  const canRunCommand = !connection && session?.hub.allows_commands === true;
  return (
    <Dialog
      open
      onClose={onClose}
      title={connection ? `Edit “${connection.name}”` : "Add a connection"}
      description="The hub connects to the server immediately, and lists its tools and triggers."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={formId}
            look="primary"
            icon={connection ? RefreshCw : Plus}
            busy={save.isPending}
            disabled={!isComplete(form, connection?.credentials)}
          >
            {connection ? "Save and check" : "Add and check"}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Field label="Name" required error={errors.get("name")}>
          {(control) => (
            <TextInput
              {...control}
              autoFocus
              maxLength={200}
              value={form.name}
              onChange={({ target }) => change({ name: target.value })}
              placeholder="weather"
            />
          )}
        </Field>
        {canRunCommand && (
          <div className="flex">
            <Segments
              label="Where the server runs"
              value={form.transport}
              options={[
                { value: "http", label: "At a URL" },
                { value: "stdio", label: "On the hub’s machine" },
              ]}
              onChange={(transport) => change({ transport })}
            />
          </div>
        )}
        {form.transport === "http" ? (
          <>
            <Field label="URL of the MCP server" required error={errors.get("url")}>
              {(control) => (
                <TextInput
                  {...control}
                  code
                  type="url"
                  value={form.url}
                  onChange={({ target }) => change({ url: target.value })}
                  placeholder="https://weather.example/mcp"
                />
              )}
            </Field>
            <AccessFields
              form={form}
              stored={connection?.credentials}
              errors={errors}
              onChange={change}
            />
            <PairFields
              label="Headers"
              noun="header"
              hint="Sent with every request to the server, such as an API key. Stored encrypted."
              stored={namesIn(connection?.credentials.headers)}
              pairs={form.headers}
              onChange={(headers) => change({ headers })}
            />
          </>
        ) : (
          <>
            <Field
              label="Command"
              required
              hint="A program that speaks MCP over stdio. It is started without a shell."
              error={errors.get("command")}
            >
              {(control) => (
                <TextInput
                  {...control}
                  code
                  value={form.command}
                  onChange={({ target }) => change({ command: target.value })}
                  placeholder="npx"
                />
              )}
            </Field>
            <Field label="Arguments" hint="One per line." error={errors.get("args")}>
              {(control) => (
                <TextArea
                  {...control}
                  code
                  value={form.args}
                  onChange={({ target }) => change({ args: target.value })}
                />
              )}
            </Field>
            <PairFields
              label="Environment"
              noun="variable"
              hint="The program gets only these variables, PATH and HOME. Stored encrypted."
              stored={namesIn(connection?.credentials.env)}
              pairs={form.env}
              onChange={(env) => change({ env })}
            />
          </>
        )}
        {save.error && !isShownAtFields && <ErrorState error={save.error} compact />}
      </form>
    </Dialog>
  );
}
