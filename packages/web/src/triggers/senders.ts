/** The sources of Event triggers: connections with triggers, webhooks, and tools that the hub polls. */

import type { Connection, Source, SourceKind } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { signalOfConnection } from "../connections/connection-signals.ts";
import { textOf } from "./text-of.ts";

export interface Senders {
  connections: readonly Connection[];
  endpoints: readonly Source[];
  kinds: readonly SourceKind[];
}

export type SenderMode = "server" | "webhook" | "poll";

/** The source of events that flows emit. */
const FLOW_EVENTS = "signalbox";

const hasTriggers = ({ trigger_count }: Connection) => trigger_count > 0;

export const connectionOf = (source: string, { connections }: Pick<Senders, "connections">) =>
  connections.find(({ id }) => id === source);

/** The kind of sender. The source is an endpoint, or the kind itself; otherwise, the result is undefined. */
export const kindOf = (source: string, { endpoints, kinds }: Omit<Senders, "connections">) => {
  const id = endpoints.find((endpoint) => endpoint.id === source)?.kind ?? source;
  return kinds.find((kind) => kind.id === id);
};

/** Returns undefined if no source is chosen yet. */
export function modeOf(parameters: JsonObject, senders: Senders): SenderMode | undefined {
  if (parameters.poll !== undefined) return "poll";
  const source = textOf(parameters.source);
  if (source === "") return undefined;
  return connectionOf(source, senders) ? "server" : "webhook";
}

interface SenderOption {
  value: string;
  label: string;
}
interface OptionGroup {
  label: string;
  options: SenderOption[];
}

const connectionOption = (connection: Connection): SenderOption => ({
  value: connection.id,
  label: `${connection.name} · ${signalOfConnection(connection).label}`,
});

/** The sources to choose from, and the current source if it is not one of them. */
export function optionsFor(mode: SenderMode, source: string, senders: Senders): OptionGroup[] {
  const groups = mode === "webhook" ? webhookGroups(senders) : connectionGroups(mode, senders);
  const isOffered = groups.some(({ options }) => options.some(({ value }) => value === source));
  if (source === "" || isOffered) return groups;
  const connection = connectionOf(source, senders);
  const label = connection ? `${connection.name} · has no triggers` : source;
  return [...groups, { label: "Current", options: [{ value: source, label }] }];
}

const connectionGroups = (mode: "server" | "poll", { connections }: Senders): OptionGroup[] => [
  {
    label: mode === "server" ? "Connections with triggers" : "Connections",
    options: connections
      .filter((connection) => mode === "poll" || hasTriggers(connection))
      .map(connectionOption),
  },
];

const webhookGroups = ({ endpoints, kinds }: Senders): OptionGroup[] => {
  const titleOf = (id: string) => kinds.find((kind) => kind.id === id)?.title ?? id;
  return [
    {
      label: "Endpoints",
      options: endpoints.map(({ id, name, kind }) => ({
        value: id,
        label: `${name} · ${titleOf(kind)}`,
      })),
    },
    {
      label: "All endpoints of a sender",
      options: kinds.map(({ id, title }) => ({ value: id, label: title })),
    },
    { label: "This hub", options: [{ value: FLOW_EVENTS, label: "Events that flows emit" }] },
  ].filter(({ options }) => options.length > 0);
};

/** The name of a connection or an endpoint; for other sources, the source itself. */
export const nameOfSender = (source: string, senders: Senders): string =>
  connectionOf(source, senders)?.name ??
  senders.endpoints.find(({ id }) => id === source)?.name ??
  source;
