/**
 * The tool names of an app's flows. A flow owns the names of its draft, those of its published version,
 * and aliases: former names that are still callable. The caller must have locked the app's row.
 */
import { insert, query, type Value, type Verb } from "../../kernel/store/sql.ts";

interface FlowOfApp {
  id: string;
  tenant: string;
  app: string;
}

/** A trigger and its tool name; null if the trigger is not a tool. */
interface TriggerName {
  tool_name: string | null;
  node_id: string;
}

/** The former name of a trigger, by which it can be called until `alias_until`. */
interface Alias {
  name: string;
  alias_node: string;
  alias_until: number;
}

/** Returns the names of the app's other flows. Deletes expired aliases before. */
export function* findTakenNames({ id, tenant, app }: FlowOfApp, at: number): Verb<Set<string>> {
  yield* query(
    "DELETE FROM tool_names WHERE tenant_id = ? AND app = ? AND alias_until <= ? AND drafted = 0",
    [tenant, app, at],
  );
  const rows = yield* query<{ name: string }>(
    "SELECT name FROM tool_names WHERE tenant_id = ? AND app = ? AND flow_id <> ?",
    [tenant, app, id],
  );
  return new Set(rows.map(({ name }) => name));
}

/** Returns the flow's callable names, including aliases, each with the id of its node. */
export function* findCallableNames(flow: FlowOfApp, at: number): Verb<Map<string, string>> {
  const names = new Map<string, string>();
  for (const { name, alias_node } of yield* readAliases(flow, at)) names.set(name, alias_node);
  for (const { tool_name, node_id } of yield* readPublishedNames(flow))
    if (tool_name !== null) names.set(tool_name, node_id);
  return names;
}

const readPublishedNames = ({ id }: FlowOfApp): Verb<TriggerName[]> =>
  query("SELECT tool_name, node_id FROM triggers WHERE flow_id = ?", [id]);

/** Replaces the names of the draft. Published names and aliases stay. */
export function* saveDraftNames(
  flow: FlowOfApp,
  drafted: readonly { name: string }[],
  at: number,
): Verb<void> {
  const published = yield* readPublishedNames(flow);
  yield* replaceNames(flow, drafted, published, yield* readAliases(flow, at));
}

/** Replaces the published names. The former name of a trigger that still exists becomes an alias. */
export function* savePublishedNames(
  flow: FlowOfApp,
  former: readonly TriggerName[],
  published: readonly TriggerName[],
  at: number,
  aliasUntil: number,
): Verb<void> {
  const drafted = yield* query<{ name: string }>(
    "SELECT name FROM tool_names WHERE flow_id = ? AND drafted = 1",
    [flow.id],
  );
  const aliases = former.flatMap(({ tool_name, node_id }): Alias[] =>
    tool_name === null ? [] : [{ name: tool_name, alias_node: node_id, alias_until: aliasUntil }],
  );
  const nodes = new Set(published.map(({ node_id }) => node_id));
  yield* replaceNames(
    flow,
    drafted,
    published,
    [...(yield* readAliases(flow, at)), ...aliases].filter(({ alias_node }) =>
      nodes.has(alias_node),
    ),
  );
}

const readAliases = ({ id }: FlowOfApp, at: number): Verb<Alias[]> =>
  query(
    "SELECT name, alias_node, alias_until FROM tool_names WHERE flow_id = ? AND alias_until > ?",
    [id, at],
  );

function* replaceNames(
  { id, tenant, app }: FlowOfApp,
  drafted: readonly { name: string }[],
  published: readonly TriggerName[],
  aliases: readonly Alias[],
): Verb<void> {
  const current = new Set(published.map(({ tool_name }) => tool_name));
  const aliasByName = new Map(
    aliases.filter(({ name }) => !current.has(name)).map((alias) => [alias.name, alias]),
  );
  const toRow = (name: string, isDrafted: 0 | 1): Value[] => {
    const alias = aliasByName.get(name);
    return [
      tenant,
      app,
      name,
      id,
      isDrafted,
      alias?.alias_node ?? null,
      alias?.alias_until ?? null,
    ];
  };
  const others = new Set([...current, ...aliasByName.keys()].filter((name) => name !== null));
  for (const { name } of drafted) others.delete(name);
  yield* query("DELETE FROM tool_names WHERE flow_id = ?", [id]);
  // The primary key rejects a name of another flow.
  yield* insert(
    "tool_names",
    ["tenant_id", "app", "name", "flow_id", "drafted", "alias_node", "alias_until"],
    [...drafted.map(({ name }) => toRow(name, 1)), ...[...others].map((name) => toRow(name, 0))],
  );
}
