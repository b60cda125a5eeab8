/** The "MCP Tool" section of a trigger that agents call: its name, its words and its parameters. */

import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { Wrench } from "lucide-react";
import { api, path } from "../api/client.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { Field, TextArea } from "../ui/field.tsx";
import { Plate } from "../ui/plate.tsx";
import { Switch } from "../ui/switch.tsx";
import { usePanel } from "./panel-context.ts";
import { withField } from "./schema-shape.ts";
import { ToolParameters } from "./tool-parameters.tsx";

interface ToolNameView {
  name: string;
  available: boolean;
  suggestion: string;
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

export function ToolSection({
  node,
  name,
  isPublished,
  app,
  flow,
  onChange,
}: {
  node: FlowNode;
  /** The name as it is typed. */
  name: string;
  isPublished: boolean;
  app: string;
  flow: string;
  onChange: (parameters: JsonObject) => void;
}) {
  const { parameters } = node;
  const { problems } = usePanel();
  const put = (field: string, value: Parameters<typeof withField>[2]) =>
    onChange(withField(parameters, field, value));
  return (
    <section aria-label="MCP Tool" className="flex flex-col gap-4">
      <h3 className="type-strong">MCP Tool</h3>
      <ToolName node={node} name={name} isPublished={isPublished} app={app} flow={flow} />
      <Field
        label="Description"
        required
        hint="What the tool does. Agents choose a tool by its description."
        error={
          textOf(parameters.toolDescription).trim() === ""
            ? "must not be empty: agents choose a tool by its description"
            : problems.get("toolDescription")
        }
      >
        {(control) => (
          <TextArea
            {...control}
            value={textOf(parameters.toolDescription)}
            onChange={({ target }) => put("toolDescription", target.value)}
          />
        )}
      </Field>
      <ToolParameters
        list={Array.isArray(parameters.parameters) ? parameters.parameters.filter(isObject) : []}
        onChange={(list) => put("parameters", list)}
      />
      <Field label="Active" hint="Whether agents see the tool.">
        {({ id }) => (
          <Switch
            id={id}
            label="Active"
            checked={parameters.isActive !== false}
            onChange={(checked) => put("isActive", checked)}
          />
        )}
      </Field>
      {(["whenToUse", "whenNotToUse"] as const).map((field) => (
        <Field key={field} label={field === "whenToUse" ? "When to use" : "When not to use"}>
          {(control) => (
            <TextArea
              {...control}
              rows={2}
              value={textOf(parameters[field])}
              onChange={({ target }) => put(field, target.value || undefined)}
            />
          )}
        </Field>
      ))}
    </section>
  );
}

/** Read-only: the name of the node gives it. */
function ToolName({
  node,
  name,
  isPublished,
  app,
  flow,
}: {
  node: FlowNode;
  name: string;
  isPublished: boolean;
  app: string;
  flow: string;
}) {
  const { data } = useQuery({
    queryKey: ["tool-name", app, flow, name],
    queryFn: ({ signal }) =>
      api.get<ToolNameView>(path`/api/apps/${app}/tool-name`, { name, flow }, signal),
    staleTime: 2_000,
    placeholderData: (before) => before,
  });
  const assigned = name === node.name ? toolNameOf(node) : undefined;
  const shown = assigned ?? data?.suggestion ?? toolName(name);
  const before = isPublished ? toolNameOf(node) : undefined;
  const isRenamed = name !== node.name && before !== undefined && shown !== before;
  return (
    <div className="flex flex-col gap-1">
      <span className="type-label text-ink-2">Tool name</span>
      <div>
        <Plate icon={Wrench}>{shown}</Plate>
      </div>
      <p className="type-meta text-ink-3" role="status">
        Derived from the name.
        {data && !data.available && !assigned && ` '${data.name}' already exists in this app.`}
      </p>
      {isRenamed && (
        <p className="type-meta text-amber">
          Renames the tool. Agents can call {before} for a while longer, and references to this node
          follow.
        </p>
      )}
    </div>
  );
}
