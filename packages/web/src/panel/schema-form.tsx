/** A form that is generated from a JSON Schema. Any value may be a template, except in triggers. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { Braces, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { Field, SelectInput, TextArea, TextInput } from "../ui/field.tsx";
import { Switch } from "../ui/switch.tsx";
import { withCode } from "../ui/with-code.ts";
import type { Language } from "./code-errors.ts";
import { CodeField } from "./code-field.tsx";
import { Disclosure } from "./disclosure.tsx";
import { usePanel } from "./panel-context.ts";
import {
  labelOf,
  readJsonText,
  readNumberText,
  requiredOf,
  type Shape,
  shapeOf,
  withField,
  writeJsonText,
} from "./schema-shape.ts";
import { useRows } from "./use-rows.ts";
import { useTypedText } from "./use-typed-text.ts";

export function SchemaForm({
  schema,
  value,
  onChange,
  path = "",
  skip = [],
  languages = {},
}: {
  schema: JsonObject;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  /** The path of `value` in the node's parameters. */
  path?: string;
  /** The names of fields that the form does not show. */
  skip?: readonly string[];
  /** The languages of the fields that contain code, by name. */
  languages?: Readonly<Record<string, Language>>;
}) {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = requiredOf(schema);
  return (
    <div className="flex flex-col gap-4">
      {Object.entries(properties)
        .filter(([name, each]) => !skip.includes(name) && isObject(each) && !("const" in each))
        .map(([name, each]) => (
          <SchemaField
            key={name}
            name={name}
            path={path ? `${path}.${name}` : name}
            schema={each as JsonObject}
            value={value[name]}
            isRequired={required.has(name)}
            language={languages[name]}
            onChange={(next) => onChange(withField(value, name, next))}
          />
        ))}
    </div>
  );
}

interface SchemaFieldProps {
  name: string;
  path: string;
  schema: JsonObject;
  value: Json | undefined;
  isRequired: boolean;
  language?: Language | undefined;
  onChange: (value: Json | undefined) => void;
}

const placeholderOf = ({ default: fallback }: JsonObject): string | undefined =>
  fallback === undefined || isObject(fallback) || Array.isArray(fallback) || fallback === ""
    ? undefined
    : String(fallback);

function SchemaField(props: SchemaFieldProps) {
  const { name, path, schema, value, isRequired, language, onChange } = props;
  const { problems } = usePanel();
  const shape = shapeOf(schema);
  const hint = typeof schema.description === "string" ? schema.description : undefined;
  const error = problems.get(path);
  const fieldProps = { label: labelOf(name), hint, error, required: isRequired };
  if (language)
    return (
      <CodeField
        {...fieldProps}
        path={path}
        language={language}
        value={typeof value === "string" ? value : ""}
        onChange={(text) => onChange(text === "" ? undefined : text)}
      />
    );
  // A boolean that is a template has a text field instead of a switch.
  if (shape.is === "boolean" && typeof value !== "string")
    return (
      <Field {...fieldProps}>
        {({ id }) => (
          <div className="flex items-center gap-2">
            <Switch
              id={id}
              label={fieldProps.label}
              checked={(value ?? schema.default ?? false) === true}
              onChange={onChange}
            />
            <ReferenceButton path={path} insert={onChange} />
          </div>
        )}
      </Field>
    );
  switch (shape.is) {
    case "choice":
      return <Choice {...props} fieldProps={fieldProps} shape={shape} />;
    case "fields": {
      const fields = (
        <SchemaForm
          schema={schema}
          path={path}
          value={isObject(value) ? value : {}}
          onChange={(next) => onChange(Object.keys(next).length > 0 ? next : undefined)}
        />
      );
      // Optional objects are collapsed, but only at the top level: a nested one is collapsed with its parent.
      return isRequired || path.includes(".") ? (
        <Group label={fieldProps.label} hint={hint} error={error}>
          {fields}
        </Group>
      ) : (
        <Disclosure label={fieldProps.label} path={path} hasValue={value !== undefined}>
          <HintAndError hint={hint} error={error} />
          {fields}
        </Disclosure>
      );
    }
    case "variants":
      return <Variants {...props} shape={shape} hint={hint} error={error} />;
    case "list":
      return <List {...props} shape={shape} hint={hint} error={error} />;
    case "record":
      return <RecordFields {...props} hint={hint} error={error} />;
    default:
      return (
        <Field {...fieldProps}>
          {(control) => (
            <TextWithReference
              control={control}
              path={path}
              isLong={shape.is === "json" || (shape.is === "text" && shape.isLong)}
              isCode={shape.is !== "text"}
              placeholder={placeholderOf(schema)}
              text={
                shape.is === "json"
                  ? writeJsonText(value)
                  : value === undefined
                    ? ""
                    : typeof value === "string"
                      ? value
                      : JSON.stringify(value)
              }
              onText={(text) =>
                onChange(
                  shape.is === "json"
                    ? readJsonText(text)
                    : shape.is === "number"
                      ? readNumberText(text)
                      : text === "" && (!isRequired || shape.is === "boolean")
                        ? undefined
                        : text,
                )
              }
            />
          )}
        </Field>
      );
  }
}

function Choice({
  schema,
  value,
  isRequired,
  fieldProps,
  shape,
  onChange,
}: SchemaFieldProps & {
  fieldProps: {
    label: string;
    hint: string | undefined;
    error: string | undefined;
    required: boolean;
  };
  shape: Extract<Shape, { is: "choice" }>;
}) {
  const known = shape.values.map(String);
  const shown = String(value ?? schema.default ?? "");
  const isClearable = !isRequired && schema.default === undefined;
  return (
    <Field {...fieldProps}>
      {(control) => (
        <SelectInput
          {...control}
          value={shown}
          onChange={({ target }) =>
            onChange(shape.values.find((each) => String(each) === target.value))
          }
        >
          {isClearable && <option value="">Not set</option>}
          {!known.includes(shown) && !(isClearable && shown === "") && (
            <option value={shown}>{shown || "Choose"}</option>
          )}
          {known.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </SelectInput>
      )}
    </Field>
  );
}

/** Text with a button that inserts a reference where the cursor is. */
function TextWithReference({
  control,
  path,
  text,
  onText,
  isLong,
  isCode,
  placeholder,
}: {
  control: Record<string, unknown>;
  path: string;
  text: string;
  onText: (text: string) => void;
  isLong: boolean;
  isCode: boolean;
  placeholder?: string | undefined;
}) {
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const { shown, change, props } = useTypedText(text, onText);
  /** The last selection; undefined before the first focus. References are then added at the end. */
  const cursor = useRef<[start: number, end: number]>(undefined);
  const insert = (reference: string) => {
    const [start, end] = cursor.current ?? [shown.length, shown.length];
    change(shown.slice(0, start) + reference + shown.slice(end));
    cursor.current = [start + reference.length, start + reference.length];
    // After the dialog has closed: closing it moves the focus to the button that opened it.
    setTimeout(() => input.current?.focus());
  };
  const shared = {
    ...control,
    ...props,
    ref: input,
    onSelect: () => {
      const { current } = input;
      if (current) cursor.current = [current.selectionStart ?? 0, current.selectionEnd ?? 0];
    },
    code: isCode || shown.includes("{{"),
    placeholder,
  };
  return (
    <div className="flex items-start gap-1">
      {isLong ? (
        <TextArea {...shared} rows={Math.min(10, Math.max(2, shown.split("\n").length))} />
      ) : (
        <TextInput {...shared} />
      )}
      <ReferenceButton path={path} insert={insert} />
    </div>
  );
}

function ReferenceButton({ path, insert }: { path: string; insert: (reference: string) => void }) {
  const { onReference } = usePanel();
  return onReference ? (
    <IconButton
      icon={Braces}
      label={`Insert a reference into ${path}`}
      onClick={() => onReference({ path, insert })}
    />
  ) : null;
}

export function Group({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
  children: ReactNode;
}) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-tile border border-line p-3">
      <legend className="px-1 type-label text-ink-2">{label}</legend>
      <HintAndError hint={hint} error={error} />
      {children}
    </fieldset>
  );
}

interface HintAndErrorProps {
  hint: string | undefined;
  error: string | undefined;
}

const HintAndError = ({ hint, error }: HintAndErrorProps) => (
  <>
    {hint && <p className="type-meta text-ink-3">{withCode(hint)}</p>}
    {error && (
      <p role="alert" className="type-meta text-red">
        {error}
      </p>
    )}
  </>
);

function Variants({
  name,
  path,
  value,
  shape: { key, variants },
  hint,
  error,
  onChange,
}: SchemaFieldProps & HintAndErrorProps & { shape: Extract<Shape, { is: "variants" }> }) {
  const current = isObject(value) ? value : {};
  const chosen = variants.find((each) => each.name === current[key]);
  return (
    <Group label={labelOf(name)} hint={hint} error={error}>
      <SelectInput
        aria-label={`${labelOf(name)}: ${key}`}
        value={chosen?.name ?? ""}
        onChange={({ target }) =>
          onChange(target.value === "" ? undefined : { ...current, [key]: target.value })
        }
      >
        <option value="">None</option>
        {variants.map((each) => (
          <option key={each.name} value={each.name}>
            {labelOf(each.name)}
          </option>
        ))}
      </SelectInput>
      {chosen && (
        <SchemaForm schema={chosen.schema} path={path} value={current} onChange={onChange} />
      )}
    </Group>
  );
}

function List({
  name,
  path,
  value,
  shape: { items },
  hint,
  error,
  onChange,
}: SchemaFieldProps & HintAndErrorProps & { shape: Extract<Shape, { is: "list" }> }) {
  const rows = Array.isArray(value) ? value : [];
  return (
    <Group label={labelOf(name)} hint={hint} error={error}>
      {rows.map((row, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no ids
          key={index}
          className="flex items-start gap-2 border-line border-b pb-3"
        >
          <div className="min-w-0 flex-1">
            <SchemaForm
              schema={items}
              path={`${path}[${index}]`}
              value={isObject(row) ? row : {}}
              onChange={(next) => onChange(rows.with(index, next))}
            />
          </div>
          <IconButton
            size="small"
            icon={Trash2}
            label={`Remove row ${index + 1}`}
            onClick={() => onChange(rows.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Button size="small" icon={Plus} onClick={() => onChange([...rows, {}])}>
        Add
      </Button>
    </Group>
  );
}

/** The fields of an object with any keys, such as HTTP headers. */
function RecordFields({
  name,
  path,
  value,
  hint,
  error,
  onChange,
}: SchemaFieldProps & HintAndErrorProps) {
  const [entries, changeEntries] = useRows(isObject(value) ? value : {}, onChange);
  return (
    <Group label={labelOf(name)} hint={hint} error={error}>
      {entries.map(([key, each], index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the user edits the name, so it cannot be the key
          key={index}
          className="flex items-start gap-1"
        >
          <TextInput
            code
            className="max-w-[130px]"
            aria-label={`Name ${index + 1}`}
            autoFocus={key === ""}
            value={key}
            onChange={({ target }) => changeEntries(entries.with(index, [target.value, each]))}
          />
          <div className="min-w-0 flex-1">
            <TextWithReference
              control={{ "aria-label": `Value of ${key}` }}
              path={path}
              isLong={isObject(each) || Array.isArray(each)}
              isCode
              text={writeJsonText(each)}
              onText={(text) => changeEntries(entries.with(index, [key, readJsonText(text) ?? ""]))}
            />
          </div>
          <IconButton
            size="small"
            icon={Trash2}
            label={`Remove ${key}`}
            onClick={() => changeEntries(entries.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Button
        size="small"
        icon={Plus}
        disabled={entries.some(([key]) => key === "")}
        onClick={() => changeEntries([...entries, ["", ""]])}
      >
        Add
      </Button>
    </Group>
  );
}
