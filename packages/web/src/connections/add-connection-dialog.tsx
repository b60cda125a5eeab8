/** Adds an MCP server by its URL. The hub checks it at once. */
import { useMutation } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import type { ConnectionDetails } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";

export function AddConnectionDialog({
  onClose,
  onAdded,
}: {
  onClose: () => void;
  onAdded: (id: string) => void;
}) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [token, setToken] = useState("");
  const add = useMutation({
    mutationFn: () =>
      api.post<ConnectionDetails>("/api/connections", {
        name: name.trim(),
        url: url.trim(),
        ...(token && { auth: { type: "bearer", token } }),
      }),
    onSuccess: ({ id }) => {
      void queryClient.invalidateQueries({ queryKey: ["connections"] });
      onClose();
      onAdded(id);
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a connection"
      description="The hub calls the server at once, and lists its tools and triggers."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <Field label="Name" required>
          {(control) => (
            <TextInput
              {...control}
              autoFocus
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder="weather"
            />
          )}
        </Field>
        <Field label="URL of the MCP server" required>
          {(control) => (
            <TextInput
              {...control}
              code
              type="url"
              value={url}
              onChange={(event) => setUrl(event.target.value)}
              placeholder="https://weather.example/mcp"
            />
          )}
        </Field>
        <Field label="Bearer token" hint="Blank if the server needs none. It is stored encrypted.">
          {(control) => (
            <TextInput
              {...control}
              code
              type="password"
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          )}
        </Field>
        {add.error && <ErrorState error={add.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            icon={Plus}
            busy={add.isPending}
            disabled={name.trim() === "" || url.trim() === ""}
          >
            Add and check
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
