/** The page to connect an agent: the configuration to paste, a token, and the state of the connection. */

import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { toProblem } from "../api/problem.ts";
import { queryClient } from "../app/query-client.ts";
import { useIsAdmin, useSession } from "../app/session.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { useApps } from "../flows/use-apps.ts";
import { Button } from "../ui/button.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, SelectInput } from "../ui/field.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { CallState } from "./call-state.tsx";
import { CLIENTS } from "./snippets.ts";

/** The value of the option for the inbox. The values of the other options are slugs of apps. */
const INBOX = "";

export default function ConnectPage() {
  usePageTitle("Connect an agent");
  return useIsAdmin() ? <ConnectAnyClient /> : <ConnectBySignIn />;
}

/** For members, who cannot create tokens: their agents sign in with OAuth. */
function ConnectBySignIn() {
  const { data: session } = useSession();
  const url = session?.hub.mcp_url ?? `${location.origin}/mcp`;
  return (
    <EmptyState
      title="Connect an agent"
      command={`claude mcp add --transport http signalbox ${url}`}
    >
      Add the address of this hub to an agent that supports OAuth. For Claude Code, run this
      command, then enter /mcp. The agent opens this hub in your browser, where you allow the
      access. The agent then gets your inbox: tools to list, read, wait for, claim and replay
      events.
    </EmptyState>
  );
}

function ConnectAnyClient() {
  const { data: session } = useSession();
  const apps = useApps();
  const [app, setApp] = useState(INBOX);
  const [client, setClient] = useState("claude-code");
  const create = useMutation({
    mutationFn: () =>
      api.post("/api/tokens", {
        body: {
          name: CLIENTS.find(({ id }) => id === client)?.name ?? client,
        },
      }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const inboxUrl = session?.hub.mcp_url ?? `${location.origin}/mcp`;
  const server = {
    name: app === INBOX ? "signalbox" : app,
    url: app === INBOX ? inboxUrl : `${inboxUrl}/${app}`,
    token: create.data?.token,
  };
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex-none border-line border-b px-5 py-[14px]">
        <h1 className="type-h1">Connect an agent</h1>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-6">
        <div className="mx-auto flex max-w-[760px] flex-col gap-6">
          <CallState created={create.data} />
          <section className="tile flex flex-col gap-5 p-5 shadow-tile">
            <Field
              label="What the agent gets"
              error={apps.error && !apps.data ? toProblem(apps.error).detail : undefined}
              hint={
                app === INBOX
                  ? "Tools to list, read, wait for, claim, explain and replay events."
                  : "The tools of the published flows of this app."
              }
            >
              {(control) => (
                <SelectInput
                  {...control}
                  value={app}
                  onChange={(event) => setApp(event.target.value)}
                >
                  <option value={INBOX}>The inbox (/mcp)</option>
                  {apps.data?.items.map(({ slug, name }) => (
                    <option key={slug} value={slug}>
                      The flows of {name} (/mcp/{slug})
                    </option>
                  ))}
                </SelectInput>
              )}
            </Field>
            <Tabs
              label="Client"
              className="mb-4"
              value={client}
              onChange={setClient}
              tabs={CLIENTS.map(({ id, name, usage, signIn, snippet }) => ({
                value: id,
                label: name,
                content: (
                  <div className="flex flex-col gap-2">
                    <p className="type-meta text-ink-2">{usage}</p>
                    <CommandLine label={`Copy the configuration of ${name}`}>
                      {snippet(server)}
                    </CommandLine>
                    {!create.data && (
                      <p className="type-meta text-ink-2">
                        {signIn ??
                          "This client needs a token: create one below, or use one that you have."}
                      </p>
                    )}
                  </div>
                ),
              }))}
            />
            <div className="flex items-center gap-3">
              <Button
                look="plain"
                icon={KeyRound}
                busy={create.isPending}
                onClick={() => create.mutate()}
              >
                {create.data ? "Create another token" : "Create a token"}
              </Button>
              <p className="type-meta text-ink-2">
                {create.data
                  ? "The token is in the text above. It is shown only now: copy it before you leave this page."
                  : "For clients without OAuth or without a browser. It may read and change the inbox, and call flows."}
              </p>
            </div>
            {create.error && <ErrorState compact error={create.error} />}
          </section>
          <p className="type-meta text-ink-3">
            To run a command for each event, with retries:{" "}
            <code>npx signalbox exec -- COMMAND</code>.
          </p>
        </div>
      </div>
    </div>
  );
}
