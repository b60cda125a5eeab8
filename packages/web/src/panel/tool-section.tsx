/** The "MCP Tool" section of a trigger that agents call: the name, description and parameters of the tool. */

import type { Flow } from "@signalbox/contract";
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { Wrench } from "lucide-react";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { textOf } from "../triggers/text-of.ts";
import { Field, TextArea } from "../ui/field.tsx";
import { Plate } from "../ui/plate.tsx";
import { Switch } from "../ui/switch.tsx";
import { useFreeToolName } from "./free-tool-name.ts";
import { usePanel } from "./panel-context.ts";
import { withField } from "./schema-shape.ts";
import { ToolParameters } from "./tool-parameters.tsx";

interface ToolProps {
  flow: Pick<Flow, "id" | "app">;
  graph: Pick<Graph, "nodes">;
  node: FlowNode;
  /** The name of the node in the text field, which may not be saved yet. */
  name: string;
  isPublished: boolean;
}

export function ToolSection({
  onChange,
  ...tool
}: ToolProps & { onChange: (parameters: JsonObject) => void }) {
  const { parameters } = tool.node;
  const { problems } = usePanel();
  const setField = (field: string, value: Parameters<typeof withField>[2]) =>
    onChange(withField(parameters, field, value));
  return (
    <section aria-label="MCP Tool" className="flex flex-col gap-4">
      <h3 className="type-strong">MCP Tool</h3>
      <ToolName {...tool} />
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
            onChange={({ target }) => setField("toolDescription", target.value)}
          />
        )}
      </Field>
      <ToolParameters
        parameters={
          Array.isArray(parameters.parameters) ? parameters.parameters.filter(isObject) : []
        }
        onChange={(list) => setField("parameters", list)}
      />
      <Field
        label="Active"
        hint="If on, agents see the tool. A change takes effect when you publish."
      >
        {({ id }) => (
          <Switch
            id={id}
            label="Active"
            checked={parameters.isActive !== false}
            onChange={(checked) => setField("isActive", checked)}
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
              onChange={({ target }) => setField(field, target.value || undefined)}
            />
          )}
        </Field>
      ))}
    </section>
  );
}

/** Read-only: the hub derives the tool name from the name of the node. */
function ToolName({ flow, graph, node, name, isPublished }: ToolProps) {
  const { derived, assigned } = useFreeToolName(flow, graph, node.id, name);
  const current = toolNameOf(node);
  const isEdited = name !== node.name;
  const shown = isEdited ? assigned : (current ?? assigned);
  return (
    <div className="flex flex-col gap-1">
      <span className="type-label text-ink-2">Tool name</span>
      <div>
        <Plate icon={Wrench}>{shown}</Plate>
      </div>
      <p className="type-meta text-ink-3" role="status">
        Derived from the name of the node.
        {shown === assigned && assigned !== derived && ` '${derived}' already exists in this app.`}
      </p>
      {isPublished && isEdited && current !== undefined && shown !== current && (
        <p className="type-meta text-amber">
          The new name renames the tool. Agents can call {current} for another week, and references
          to this node are updated.
        </p>
      )}
    </div>
  );
}
