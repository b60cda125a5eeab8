/** The form of a `CallTool` node: the connection, one of its tools, and the arguments of that tool. */

import { isObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { api, MAX_CHOICES } from "../api/client.ts";
import { textOf } from "../triggers/text-of.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { ChoiceField } from "./choice-field.tsx";
import type { CustomFormProps } from "./custom-form.ts";
import { usePanel } from "./panel-context.ts";
import { Group, SchemaForm } from "./schema-form.tsx";
import { hasFields, pickKnownFields, withField } from "./schema-shape.ts";

export function CallToolForm({ schema, value, onChange }: CustomFormProps) {
  const { problems } = usePanel();
  const connection = textOf(value.connection);
  const name = textOf(value.tool);
  const connections = useQuery({
    queryKey: ["connections", "choices"],
    queryFn: () => api.all("/api/connections", { maxItems: MAX_CHOICES }),
  });
  const tools = useQuery({
    queryKey: ["connections", "tools", connection],
    queryFn: () => api.get("/api/connections/:connection/tools", { params: { connection } }),
    enabled: connections.data?.some(({ id }) => id === connection) ?? false,
  });
  const tool = tools.data?.items.find((each) => each.name === name);
  const error = connections.error ?? tools.error;
  return (
    <div className="flex flex-col gap-4">
      {error && <ErrorState error={error} compact />}
      <ChoiceField
        label="Connection"
        hint={
          connections.data?.length === 0
            ? "There are no connections yet. Add an MCP server under Connections."
            : undefined
        }
        error={problems.get("connection")}
        value={connection}
        options={(connections.data ?? []).map(({ id, name }) => ({
          value: id,
          label: name,
        }))}
        onChange={(id) => onChange({ ...value, connection: id, tool: "", arguments: {} })}
      />
      <ChoiceField
        label="Tool"
        hint={tool?.description}
        error={problems.get("tool")}
        value={name}
        options={(tools.data?.items ?? []).map(({ name, title }) => ({
          value: name,
          label: title ? `${name} (${title})` : name,
        }))}
        onChange={(next) =>
          onChange({
            ...value,
            tool: next,
            arguments: pickKnownFields(
              tools.data?.items.find((each) => each.name === next)?.inputSchema ?? {},
              value.arguments,
            ),
          })
        }
      />
      {tool && hasFields(tool.inputSchema) ? (
        <Group label="Arguments" error={problems.get("arguments")}>
          <SchemaForm
            schema={tool.inputSchema}
            path="arguments"
            value={isObject(value.arguments) ? value.arguments : {}}
            onChange={(next) => onChange(withField(value, "arguments", next))}
          />
        </Group>
      ) : (
        <SchemaForm
          schema={schema}
          skip={["connection", "tool"]}
          value={value}
          onChange={onChange}
        />
      )}
    </div>
  );
}
