/** The "MCP Tool" section of a trigger that agents call: its name, its words and its parameters. */

import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2, Wrench } from "lucide-react";
import { api, path } from "../api/client.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Checkbox } from "../ui/checkbox.tsx";
import { Field, SelectInput, TextArea, TextInput } from "../ui/field.tsx";
import { Plate } from "../ui/plate.tsx";
import { Switch } from "../ui/switch.tsx";
import { usePanel } from "./panel-context.ts";
import { readJsonText, withField, writeJsonText } from "./schema-shape.ts";
import { useTypedText } from "./use-typed-text.ts";

interface ToolNameView {
  name: string;
  available: boolean;
  suggestion: string;
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

export function ToolSection({
  node,
  name,
  app,
  flow,
  onChange,
}: {
  node: FlowNode;
  /** The name as it is typed. */
  name: string;
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
      <ToolName node={node} name={name} app={app} flow={flow} />
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
  app,
  flow,
}: {
  node: FlowNode;
  name: string;
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
  const isRenamed = name !== node.name && toolNameOf(node) && shown !== toolNameOf(node);
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
          Renames the tool. Agents can call {toolNameOf(node)} for a while longer, and references to
          this node follow.
        </p>
      )}
    </div>
  );
}

const TYPES = ["string", "number", "integer", "boolean", "enum", "array", "object"];

function ToolParameters({
  list,
  onChange,
}: {
  list: readonly JsonObject[];
  onChange: (list: JsonObject[]) => void;
}) {
  const { problems } = usePanel();
  const put = (nth: number, field: string, value: Parameters<typeof withField>[2]) =>
    onChange(list.map((each, at) => (at === nth ? withField(each, field, value) : each)));
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-tile border border-line p-3">
      <legend className="px-1 type-label text-ink-2">Parameters</legend>
      {list.length === 0 && <p className="type-meta text-ink-3">The tool takes no arguments.</p>}
      {list.map((each, nth) => {
        const name = textOf(each.name);
        const error = ["name", "enum", "default", "schema"]
          .map((field) => problems.get(`parameters[${nth}].${field}`))
          .find(Boolean);
        return (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: the name is what is being edited
            key={nth}
            className="flex flex-col gap-2 border-line border-b pb-3"
          >
            <div className="flex items-center gap-2">
              <TextInput
                code
                aria-label={`Name of parameter ${nth + 1}`}
                placeholder="name"
                value={name}
                aria-invalid={error ? true : undefined}
                onChange={({ target }) => put(nth, "name", target.value)}
              />
              <SelectInput
                aria-label={`Type of ${name || `parameter ${nth + 1}`}`}
                className="w-[110px]"
                value={textOf(each.type) || "string"}
                onChange={({ target }) => put(nth, "type", target.value)}
              >
                {TYPES.map((type) => (
                  <option key={type}>{type}</option>
                ))}
              </SelectInput>
              <IconButton
                size="small"
                icon={Trash2}
                label={`Remove ${name || `parameter ${nth + 1}`}`}
                onClick={() => onChange(list.filter((_, at) => at !== nth))}
              />
            </div>
            <TextInput
              aria-label={`Description of ${name || `parameter ${nth + 1}`}`}
              placeholder="What it means, for agents"
              value={textOf(each.description)}
              onChange={({ target }) => put(nth, "description", target.value || undefined)}
            />
            {each.type === "enum" && (
              <TextInput
                aria-label={`Values of ${name}`}
                placeholder="Values, separated by commas"
                defaultValue={Array.isArray(each.enum) ? each.enum.join(", ") : ""}
                onBlur={({ target }) =>
                  put(
                    nth,
                    "enum",
                    target.value
                      .split(",")
                      .map((value) => value.trim())
                      .filter(Boolean),
                  )
                }
              />
            )}
            <div className="flex items-center gap-3">
              <Checkbox
                label={`${name || `parameter ${nth + 1}`} is optional`}
                checked={each.optional === true}
                onChange={() => put(nth, "optional", each.optional === true ? undefined : true)}
              />
              <span className="type-meta text-ink-2">optional</span>
              <DefaultInput
                label={`Default of ${name || `parameter ${nth + 1}`}`}
                value={each.default}
                onChange={(value) => put(nth, "default", value)}
              />
            </div>
            {error && (
              <p role="alert" className="type-meta text-red">
                {error}
              </p>
            )}
          </div>
        );
      })}
      <Button
        size="small"
        icon={Plus}
        onClick={() => onChange([...list, { name: "", type: "string" }])}
      >
        Add a parameter
      </Button>
    </fieldset>
  );
}

function DefaultInput({
  label,
  value,
  onChange,
}: {
  label: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const { props } = useTypedText(writeJsonText(value), (text) => onChange(readJsonText(text)));
  return <TextInput code aria-label={label} placeholder="default" {...props} />;
}
