/**
 * Reports plain values in fields that must refer to a secret. Warns of secrets that do not exist, of
 * code that reads secrets, and of requests that send secrets to a host that a template sets.
 */
import type { Json } from "../json.ts";
import { valuesAt } from "../match/path.ts";
import { codeReferences } from "./code-references.ts";
import { type ErrorCode, type Finding, fieldFinding, type WarningCode } from "./finding.ts";
import { writePath } from "./issues.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeDefinition, NodeRegistry } from "./node-type.ts";
import { referencesIn } from "./references.ts";
import { type ResolvedFlow, skipRawFields } from "./resolved-flow.ts";
import { parseTemplate } from "./template.ts";

/** If `existingNames` is undefined, the existence of secrets is not checked. */
export const checkSecrets = (
  resolved: ResolvedFlow,
  existingNames: ReadonlySet<string> | undefined,
): Finding<WarningCode>[] => [
  ...(existingNames ? findMissingSecrets(resolved, existingNames) : []),
  ...findSecretsInCode(resolved),
  ...findSecretsToAnyHost(resolved),
];

/** Finds values that must be references to secrets but are not. Ignores blank values. */
export const findPlainSecrets = ({ flow, definition }: ResolvedFlow): Finding<ErrorCode>[] =>
  flow.nodes.flatMap((node) =>
    (definition(node)?.secretOnlyFields ?? []).flatMap((field) => {
      const isPlain = valuesAt(node.parameters, field).some(
        (value) => value !== null && value !== "" && !isSecretReference(value),
      );
      if (!isPlain) return [];
      const path = writePath(field as (string | number)[]);
      return [fieldFinding("plain_secret", node, path, PLAIN_SECRET)];
    }),
  );

const PLAIN_SECRET =
  "must be one reference to a secret, such as {{ secrets.API_KEY }}, because everybody who can read the flow could read the value; store it with PUT /api/secrets/API_KEY";

function isSecretReference(value: Json): boolean {
  if (typeof value !== "string") return false;
  const [first, another] = parseTemplate(value).parts;
  return first?.kind === "reference" && first.root === "secrets" && !another;
}

/** Returns the names of the secrets that a flow refers to. */
export const secretsIn = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
): Set<string> =>
  new Set(
    nodes.flatMap((node) =>
      secretReferences(node, registry.get(node.type)).map(({ name }) => name),
    ),
  );

const secretReferences = ({ parameters }: FlowNode, definition: NodeDefinition | undefined) =>
  referencesIn(parameters, skipRawFields(definition)).flatMap(({ root, path, keys }) => {
    const [name] = path;
    return root === "secrets" && path.length === 1 ? [{ name: String(name), keys }] : [];
  });

const findMissingSecrets = (
  { flow, definition }: ResolvedFlow,
  existingNames: ReadonlySet<string>,
): Finding<WarningCode>[] =>
  flow.nodes.flatMap((node) =>
    secretReferences(node, definition(node))
      .filter(({ name }) => !existingNames.has(name))
      .map(({ name, keys }) => {
        const path = writePath(keys);
        const message = `there is no secret ${name}; add it with PUT /api/secrets/${name}`;
        return fieldFinding("missing_secret", node, path, message);
      }),
  );

const findSecretsInCode = ({
  flow,
  definition,
  findAnalysis,
}: ResolvedFlow): Finding<WarningCode>[] =>
  flow.nodes.flatMap((node) => {
    const { field = "", readsSecrets = false } =
      codeReferences(node, definition(node), findAnalysis) ?? {};
    const message =
      "code has no access to secrets; write {{ secrets.KEY }} in headers or auth of an HttpRequest";
    return readsSecrets ? [fieldFinding("secret_in_code", node, field, message)] : [];
  });

const findSecretsToAnyHost = (resolved: ResolvedFlow): Finding<WarningCode>[] =>
  resolved.flow.nodes.flatMap((node) => {
    const definition = resolved.definition(node);
    const field = definition?.sendsTo;
    const url = field === undefined ? undefined : node.parameters[field];
    if (field === undefined || typeof url !== "string" || hasFixedHost(url)) return [];
    const reference = referencesIn(node.parameters, skipRawFields(definition)).find(
      ({ root }) => root === "secrets",
    );
    if (!reference) return [];
    const secret = `secrets.${String(reference.path[0] ?? "")}`;
    return [
      fieldFinding(
        "secret_to_any_host",
        node,
        field,
        `a template sets the host that receives ${secret}; write a fixed host`,
      ),
    ];
  });

/** Whether the text before the first reference contains the whole host. */
function hasFixedHost(url: string): boolean {
  const { parts } = parseTemplate(url);
  if (!parts.some(({ kind }) => kind === "reference")) return true;
  const [first] = parts;
  return first?.kind === "text" && /^\s*[a-z]+:\/\/[^/?#\\]+[/?#]/i.test(first.text);
}
