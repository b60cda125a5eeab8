/** Chooses the source of an Event trigger: a connection with triggers, a webhook, or a tool to poll. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { Plug } from "lucide-react";
import { useState } from "react";
import { signalOfConnection } from "../connections/connection-signals.ts";
import { usePanel } from "../panel/panel-context.ts";
import { withField } from "../panel/schema-shape.ts";
import { ButtonLink } from "../ui/button.tsx";
import { Field, SelectInput } from "../ui/field.tsx";
import { ago } from "../ui/format.ts";
import { Segments } from "../ui/segments.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { connectionOf, modeOf, optionsFor, type SenderMode, type Senders } from "./senders.ts";
import { textOf } from "./text-of.ts";

const MODES: readonly { value: SenderMode; label: string }[] = [
  { value: "server", label: "MCP server" },
  { value: "webhook", label: "Webhook" },
  { value: "poll", label: "Poll a tool" },
];

const HINTS: Record<SenderMode, string> = {
  server: "The server sends its events to the hub. Only servers with triggers are listed.",
  webhook: "One endpoint, or all endpoints of a sender.",
  poll: "The hub calls a tool at a regular interval. Each new item in the result is an event.",
};

export function SourcePicker({
  parameters,
  senders,
  onChange,
}: {
  parameters: JsonObject;
  senders: Senders;
  onChange: (parameters: JsonObject) => void;
}) {
  const { problems } = usePanel();
  const [chosenMode, setChosenMode] = useState<SenderMode>();
  const savedMode = modeOf(parameters, senders);
  const hasServers = senders.connections.some(({ trigger_count }) => trigger_count > 0);
  const mode = chosenMode ?? savedMode ?? (hasServers ? "server" : "webhook");
  const source = mode === savedMode ? textOf(parameters.source) : "";
  const groups = optionsFor(mode, source, senders);
  const connection = connectionOf(source, senders);
  const isEmpty = groups.every(({ options }) => options.length === 0);

  const choose = (value: string) => {
    // The type belongs to the previous source; the conditions may fit both sources.
    const { type: _, poll, ...rest } = parameters;
    const next = withField(rest, "source", value);
    onChange(mode === "poll" ? { ...next, poll: poll ?? { everySeconds: 60 } } : next);
    setChosenMode(undefined);
  };

  return (
    <div className="flex flex-col gap-2">
      <div>
        <Segments label="Listens to" value={mode} options={MODES} onChange={setChosenMode} />
      </div>
      {isEmpty ? (
        <div className="flex flex-col items-start gap-2">
          <p className="text-ink-2">
            {mode === "poll" ? "There are no connections yet." : "No connection has triggers."} Add
            an MCP server, and it appears here.
          </p>
          <ButtonLink size="small" icon={Plug} to="/connections">
            Connections
          </ButtonLink>
        </div>
      ) : (
        <Field
          label={mode === "webhook" ? "Source" : "Connection"}
          required
          hint={HINTS[mode]}
          error={problems.get("source")}
        >
          {(control) => (
            <SelectInput
              {...control}
              value={source}
              onChange={({ target }) => choose(target.value)}
            >
              {source === "" && <option value="">Choose</option>}
              {groups.map(({ label, options }) => (
                <optgroup key={label} label={label}>
                  {options.map((option) => (
                    <option key={option.value} value={option.value}>
                      {option.label}
                    </option>
                  ))}
                </optgroup>
              ))}
            </SelectInput>
          )}
        </Field>
      )}
      {connection && <ConnectionStatus connection={connection} />}
    </div>
  );
}

function ConnectionStatus({ connection }: { connection: Senders["connections"][number] }) {
  const { aspect, label } = signalOfConnection(connection);
  return (
    <p className="flex items-center gap-2 type-meta text-ink-2">
      <SignalHead aspect={aspect} label={label} />
      <span className="wrap-anywhere min-w-0">
        {connection.error ?? label}
        {connection.checked_at && (
          <span className="text-ink-3"> · checked {ago(connection.checked_at)}</span>
        )}
      </span>
    </p>
  );
}
