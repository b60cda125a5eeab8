/** Adds an MCP server, or changes one. The hub checks it at once. */
import { useMutation } from "@tanstack/react-query";
import { Plus, RefreshCw } from "lucide-react";
import { useId, useState } from "react";
import { api, path } from "../api/client.ts";
import { fieldErrors } from "../api/problem.ts";
import type { ConnectionDetails } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { useSession } from "../app/session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextArea, TextInput } from "../ui/field.tsx";
import { Segments } from "../ui/segments.tsx";
import { AccessFields } from "./access-fields.tsx";
import { bodyOf, formOf, isComplete, namesIn, newForm } from "./connection-form.ts";
import { PairFields } from "./pair-fields.tsx";

/** The fields that show what is wrong with them. */
const MARKED = new Set(
  "name url command args auth.token auth.client_id auth.client_secret auth.token_url auth.scope auth.audience".split(
    " ",
  ),
);

export function ConnectionDialog({
  connection,
  onClose,
  onSaved,
}: {
  /** Undefined: a new one. */
  connection?: ConnectionDetails;
  onClose: () => void;
  onSaved: (saved: ConnectionDetails) => void;
}) {
  const formId = useId();
  const { data: session } = useSession();
  const [form, setForm] = useState(() => (connection ? formOf(connection) : newForm));
  const put = (change: Partial<typeof form>) => setForm((before) => ({ ...before, ...change }));
  const save = useMutation({
    mutationFn: () =>
      connection
        ? api.patch<ConnectionDetails>(
            path`/api/connections/${connection.id}`,
            bodyOf(form, connection),
          )
        : api.post<ConnectionDetails>("/api/connections", bodyOf(form)),
    onSuccess: (saved) => {
      void queryClient.invalidateQueries({ queryKey: ["connections"] });
      onClose();
      onSaved(saved);
    },
  });
  const errors = fieldErrors(save.error);
  const isMarked = errors.size > 0 && [...errors.keys()].every((at) => MARKED.has(at));
  const canReachByCommand = !connection && session?.hub.allows_commands === true;
  return (
    <Dialog
      open
      onClose={onClose}
      title={connection ? `Edit “${connection.name}”` : "Add a connection"}
      description="The hub calls the server at once, and lists its tools and triggers."
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
              onChange={({ target }) => put({ name: target.value })}
              placeholder="weather"
            />
          )}
        </Field>
        {canReachByCommand && (
          <div className="flex">
            <Segments
              label="Where the server runs"
              value={form.reach}
              options={[
                { value: "url", label: "At a URL" },
                { value: "command", label: "On the hub’s machine" },
              ]}
              onChange={(reach) => put({ reach })}
            />
          </div>
        )}
        {form.reach === "url" ? (
          <>
            <Field label="URL of the MCP server" required error={errors.get("url")}>
              {(control) => (
                <TextInput
                  {...control}
                  code
                  type="url"
                  value={form.url}
                  onChange={({ target }) => put({ url: target.value })}
                  placeholder="https://weather.example/mcp"
                />
              )}
            </Field>
            <AccessFields
              form={form}
              stored={connection?.credentials}
              errors={errors}
              onChange={put}
            />
            <PairFields
              label="Headers"
              noun="header"
              hint="Sent with every request to the server, such as an API key. Stored encrypted."
              stored={namesIn(connection?.credentials.headers)}
              pairs={form.headers}
              onChange={(headers) => put({ headers })}
            />
          </>
        ) : (
          <>
            <Field
              label="Command"
              required
              hint="A program that speaks MCP over stdio. No shell interprets it."
              error={errors.get("command")}
            >
              {(control) => (
                <TextInput
                  {...control}
                  code
                  value={form.command}
                  onChange={({ target }) => put({ command: target.value })}
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
                  onChange={({ target }) => put({ args: target.value })}
                />
              )}
            </Field>
            <PairFields
              label="Environment"
              noun="variable"
              hint="The program gets only these variables, PATH and HOME. Stored encrypted."
              stored={namesIn(connection?.credentials.env)}
              pairs={form.env}
              onChange={(env) => put({ env })}
            />
          </>
        )}
        {save.error && !isMarked && <ErrorState error={save.error} compact />}
      </form>
    </Dialog>
  );
}
