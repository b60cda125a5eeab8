/** A form drawn from a JSON Schema. Any value may be a template, except in triggers. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { Braces, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { Field, SelectInput, TextArea, TextInput } from "../ui/field.tsx";
import { Switch } from "../ui/switch.tsx";
import { withCode } from "../ui/with-code.ts";
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

type Language = "javascript" | "jsonata" | "json";

export function SchemaForm({
  schema,
  value,
  onChange,
  at = "",
  skip = [],
  languages = {},
}: {
  schema: JsonObject;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  /** The path of `value` in the node's parameters. */
  at?: string;
  skip?: readonly string[];
  /** The fields that are code. */
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
            at={at ? `${at}.${name}` : name}
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

interface FieldProps {
  name: string;
  at: string;
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

function SchemaField(props: FieldProps) {
  const { name, at, schema, value, isRequired, language, onChange } = props;
  const { problems } = usePanel();
  const shape = shapeOf(schema);
  const hint = typeof schema.description === "string" ? schema.description : undefined;
  const error = problems.get(at);
  const common = { label: labelOf(name), hint, error, required: isRequired };
  if (language)
    return (
      <CodeField
        {...common}
        at={at}
        language={language}
        value={typeof value === "string" ? value : ""}
        onChange={(text) => onChange(text === "" ? undefined : text)}
      />
    );
  // A template stands where a switch would be.
  if (shape.is === "boolean" && typeof value !== "string")
    return (
      <Field {...common}>
        {({ id }) => (
          <div className="flex items-center gap-2">
            <Switch
              id={id}
              label={common.label}
              checked={(value ?? schema.default ?? false) === true}
              onChange={onChange}
            />
            <ReferenceButton at={at} insert={onChange} />
          </div>
        )}
      </Field>
    );
  switch (shape.is) {
    case "choice":
      return <Choice {...props} common={common} shape={shape} />;
    case "fields": {
      const fields = (
        <SchemaForm
          schema={schema}
          at={at}
          value={isObject(value) ? value : {}}
          onChange={(next) => onChange(Object.keys(next).length > 0 ? next : undefined)}
        />
      );
      return isRequired || at.includes(".") ? (
        <Group label={common.label} hint={hint} error={error}>
          {fields}
        </Group>
      ) : (
        <Disclosure label={common.label} at={at} isUsed={value !== undefined}>
          <Marks hint={hint} error={error} />
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
        <Field {...common}>
          {(control) => (
            <TextWithReference
              control={control}
              at={at}
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
  common,
  shape,
  onChange,
}: FieldProps & {
  common: { label: string; hint: string | undefined; error: string | undefined; required: boolean };
  shape: Extract<Shape, { is: "choice" }>;
}) {
  const known = shape.values.map(String);
  const shown = String(value ?? schema.default ?? "");
  const isClearable = !isRequired && schema.default === undefined;
  return (
    <Field {...common}>
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
  at,
  text,
  onText,
  isLong,
  isCode,
  placeholder,
}: {
  control: Record<string, unknown>;
  at: string;
  text: string;
  onText: (text: string) => void;
  isLong: boolean;
  isCode: boolean;
  placeholder?: string | undefined;
}) {
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const { shown, change, props } = useTypedText(text, onText);
  /** Where the cursor was last; a field that never had the focus continues at its end. */
  const cursor = useRef<[start: number, end: number]>(undefined);
  const insert = (reference: string) => {
    const [start, end] = cursor.current ?? [shown.length, shown.length];
    change(shown.slice(0, start) + reference + shown.slice(end));
    cursor.current = [start + reference.length, start + reference.length];
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
      <ReferenceButton at={at} insert={insert} />
    </div>
  );
}

function ReferenceButton({ at, insert }: { at: string; insert: (reference: string) => void }) {
  const { onReference } = usePanel();
  return onReference ? (
    <IconButton
      icon={Braces}
      label={`Insert a reference into ${at}`}
      onClick={() => onReference({ at, insert })}
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
      <Marks hint={hint} error={error} />
      {children}
    </fieldset>
  );
}

interface MarkProps {
  hint: string | undefined;
  error: string | undefined;
}

const Marks = ({ hint, error }: MarkProps) => (
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
  at,
  value,
  shape: { key, variants },
  hint,
  error,
  onChange,
}: FieldProps & MarkProps & { shape: Extract<Shape, { is: "variants" }> }) {
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
      {chosen && <SchemaForm schema={chosen.schema} at={at} value={current} onChange={onChange} />}
    </Group>
  );
}

function List({
  name,
  at,
  value,
  shape: { items },
  hint,
  error,
  onChange,
}: FieldProps & MarkProps & { shape: Extract<Shape, { is: "list" }> }) {
  const rows = Array.isArray(value) ? value : [];
  const put = (nth: number, row: Json) => onChange(rows.with(nth, row));
  return (
    <Group label={labelOf(name)} hint={hint} error={error}>
      {rows.map((row, nth) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no names of their own
          key={nth}
          className="flex items-start gap-2 border-line border-b pb-3"
        >
          <div className="min-w-0 flex-1">
            <SchemaForm
              schema={items}
              at={`${at}[${nth}]`}
              value={isObject(row) ? row : {}}
              onChange={(next) => put(nth, next)}
            />
          </div>
          <IconButton
            size="small"
            icon={Trash2}
            label={`Remove row ${nth + 1}`}
            onClick={() => onChange(rows.toSpliced(nth, 1))}
          />
        </div>
      ))}
      <Button size="small" icon={Plus} onClick={() => onChange([...rows, {}])}>
        Add
      </Button>
    </Group>
  );
}

/** Names and values, such as headers. */
function RecordFields({ name, at, value, hint, error, onChange }: FieldProps & MarkProps) {
  const [entries, put] = useRows(isObject(value) ? value : {}, onChange);
  return (
    <Group label={labelOf(name)} hint={hint} error={error}>
      {entries.map(([key, each], nth) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the name is what is being edited
          key={nth}
          className="flex items-start gap-1"
        >
          <TextInput
            code
            className="max-w-[130px]"
            aria-label={`Name ${nth + 1}`}
            autoFocus={key === ""}
            value={key}
            onChange={({ target }) => put(entries.with(nth, [target.value, each]))}
          />
          <div className="min-w-0 flex-1">
            <TextWithReference
              control={{ "aria-label": `Value of ${key}` }}
              at={at}
              isLong={isObject(each) || Array.isArray(each)}
              isCode
              text={writeJsonText(each)}
              onText={(text) => put(entries.with(nth, [key, readJsonText(text) ?? ""]))}
            />
          </div>
          <IconButton
            size="small"
            icon={Trash2}
            label={`Remove ${key}`}
            onClick={() => put(entries.toSpliced(nth, 1))}
          />
        </div>
      ))}
      <Button
        size="small"
        icon={Plus}
        disabled={entries.some(([key]) => key === "")}
        onClick={() => put([...entries, ["", ""]])}
      >
        Add
      </Button>
    </Group>
  );
}
