/** What an event trigger can listen to: triggers of MCP servers, webhooks, or a tool that is polled. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Connection, Source, SourceKind } from "../api/types.ts";
import { lookOfConnection } from "../connections/connection-words.ts";
import { textOf } from "./text-of.ts";

export interface Senders {
  connections: readonly Connection[];
  endpoints: readonly Source[];
  kinds: readonly SourceKind[];
}

export type SenderMode = "server" | "webhook" | "poll";

/** The source of events that flows emit. */
const FLOWS = "signalbox";

const hasTriggers = ({ trigger_count }: Connection) => trigger_count > 0;

export const connectionOf = (source: string, { connections }: Pick<Senders, "connections">) =>
  connections.find(({ id }) => id === source);

/** The kind of sender, if the source is one or is one of its endpoints. */
export const kindOf = (source: string, { endpoints, kinds }: Omit<Senders, "connections">) => {
  const id = endpoints.find((endpoint) => endpoint.id === source)?.kind ?? source;
  return kinds.find((kind) => kind.id === id);
};

/** Which of the three the parameters mean; undefined if nothing is chosen yet. */
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
  label: `${connection.name} · ${lookOfConnection(connection).label}`,
});

/** The sources to choose from. One that is set but not offered stays visible. */
export function optionsFor(mode: SenderMode, source: string, senders: Senders): OptionGroup[] {
  const groups = mode === "webhook" ? webhookGroups(senders) : connectionGroups(mode, senders);
  const isOffered = groups.some(({ options }) => options.some(({ value }) => value === source));
  if (source === "" || isOffered) return groups;
  const connection = connectionOf(source, senders);
  const label = connection ? `${connection.name} · has no triggers` : source;
  return [...groups, { label: "Chosen", options: [{ value: source, label }] }];
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
      label: "Every endpoint of a sender",
      options: kinds.map(({ id, title }) => ({ value: id, label: title })),
    },
    { label: "This hub", options: [{ value: FLOWS, label: "Events that flows emit" }] },
  ].filter(({ options }) => options.length > 0);
};

/** The name that people know a source by. */
export const nameOfSender = (source: string, senders: Senders): string =>
  connectionOf(source, senders)?.name ??
  senders.endpoints.find(({ id }) => id === source)?.name ??
  source;
