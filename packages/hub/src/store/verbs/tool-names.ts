/**
 * The tool names of an app's flows. A flow owns the names of its draft, those of its published version,
 * and aliases: former names that are still callable. The caller must have locked the app's row.
 */
import { insert, query, type Value, type Verb } from "../sql.ts";

interface FlowId {
  id: string;
  tenant: string;
  app: string;
}

interface Named {
  tool_name: string | null;
  node_id: string;
}

/** A former name, which calls the same trigger until `alias_until`. */
interface Alias {
  name: string;
  alias_node: string;
  alias_until: number;
}

/** The names of the app's other flows, without expired aliases, which are deleted. */
export function* takenNames({ id, tenant, app }: FlowId, at: number): Verb<Set<string>> {
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

/** The flow's callable names, including aliases, each with the id of its node. */
export function* callableNames(flow: FlowId, at: number): Verb<Map<string, string>> {
  const names = new Map<string, string>();
  for (const { name, alias_node } of yield* aliasesOf(flow, at)) names.set(name, alias_node);
  for (const { tool_name, node_id } of yield* publishedNames(flow))
    if (tool_name !== null) names.set(tool_name, node_id);
  return names;
}

const publishedNames = ({ id }: FlowId): Verb<Named[]> =>
  query("SELECT tool_name, node_id FROM triggers WHERE flow_id = ?", [id]);

/** Replaces the names of the draft. Published names and aliases stay. */
export function* saveDraftNames(
  flow: FlowId,
  drafted: readonly { name: string }[],
  at: number,
): Verb<void> {
  const published = yield* publishedNames(flow);
  yield* replaceNames(flow, drafted, published, yield* aliasesOf(flow, at));
}

/** Replaces the published names. The former name of a trigger that still exists becomes an alias. */
export function* savePublishedNames(
  flow: FlowId,
  former: readonly Named[],
  published: readonly Named[],
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
    [...(yield* aliasesOf(flow, at)), ...aliases].filter(({ alias_node }) => nodes.has(alias_node)),
  );
}

const aliasesOf = ({ id }: FlowId, at: number): Verb<Alias[]> =>
  query(
    "SELECT name, alias_node, alias_until FROM tool_names WHERE flow_id = ? AND alias_until > ?",
    [id, at],
  );

function* replaceNames(
  { id, tenant, app }: FlowId,
  drafted: readonly { name: string }[],
  published: readonly Named[],
  aliases: readonly Alias[],
): Verb<void> {
  const current = new Set(published.map(({ tool_name }) => tool_name));
  const former = new Map(
    aliases.filter(({ name }) => !current.has(name)).map((alias) => [alias.name, alias]),
  );
  const row = (name: string, isDrafted: 0 | 1): Value[] => {
    const alias = former.get(name);
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
  const others = new Set([...current, ...former.keys()].filter((name) => name !== null));
  for (const { name } of drafted) others.delete(name);
  yield* query("DELETE FROM tool_names WHERE flow_id = ?", [id]);
  // The primary key rejects a name of another flow.
  yield* insert(
    "tool_names",
    ["tenant_id", "app", "name", "flow_id", "drafted", "alias_node", "alias_until"],
    [...drafted.map(({ name }) => row(name, 1)), ...[...others].map((name) => row(name, 0))],
  );
}
