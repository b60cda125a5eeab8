/** Fields for the credentials of an MCP server. Stored credentials cannot be read, only kept or replaced. */

import type { Connection } from "@signalbox/contract";
import { isObject } from "@signalbox/rules/json.ts";
import { Field, SelectInput, TextInput } from "../ui/field.tsx";
import { type Access, accessText, type ConnectionForm } from "./connection-form.ts";

const CHOICES: readonly { value: Access; label: string }[] = [
  { value: "none", label: "None" },
  { value: "bearer", label: "Bearer token" },
  { value: "authorization_code", label: "OAuth: a user authorizes the hub" },
  { value: "client_credentials", label: "OAuth: client credentials" },
];

const HINTS: Partial<Record<Access, string>> = {
  authorization_code:
    "After you add the connection, choose Authorize: the server asks for your consent.",
  client_credentials:
    "The hub gets access tokens as this client, with the grant client_credentials.",
};

type TextField = "token" | "clientId" | "clientSecret" | "tokenUrl" | "scope" | "audience";

interface CredentialField {
  field: TextField;
  /** The path in the request, which errors of the hub name. */
  path: string;
  label: string;
  hint?: string;
  placeholder?: string;
  isRequired?: boolean;
  isSecret?: boolean;
}

const FIELDS: Readonly<Record<Access, readonly CredentialField[]>> = {
  keep: [],
  none: [],
  bearer: [
    {
      field: "token",
      path: "auth.token",
      label: "Bearer token",
      hint: "Stored encrypted.",
      isRequired: true,
      isSecret: true,
    },
  ],
  authorization_code: [
    {
      field: "clientId",
      path: "auth.client_id",
      label: "Client id",
      hint: "If blank, the hub registers as a client at the authorization server.",
    },
    {
      field: "clientSecret",
      path: "auth.client_secret",
      label: "Client secret",
      hint: "Only if the client has one. Stored encrypted.",
      isSecret: true,
    },
    {
      field: "scope",
      path: "auth.scope",
      label: "Scope",
      hint: "If blank, the hub requests the scopes that the server names.",
    },
  ],
  client_credentials: [
    { field: "clientId", path: "auth.client_id", label: "Client id", isRequired: true },
    {
      field: "clientSecret",
      path: "auth.client_secret",
      label: "Client secret",
      hint: "Stored encrypted.",
      isRequired: true,
      isSecret: true,
    },
    {
      field: "tokenUrl",
      path: "auth.token_url",
      label: "Token endpoint",
      hint: "If blank, the hub discovers it from the metadata of the server.",
      placeholder: "https://auth.example/token",
    },
    { field: "scope", path: "auth.scope", label: "Scope", placeholder: "mcp:tools" },
    { field: "audience", path: "auth.audience", label: "Audience" },
  ],
};

export function AccessFields({
  form,
  stored,
  errors,
  onChange,
}: {
  form: ConnectionForm;
  stored: Connection["credentials"] | undefined;
  errors: ReadonlyMap<string, string>;
  onChange: (change: Partial<ConnectionForm>) => void;
}) {
  const auth = stored?.auth;
  return (
    <>
      <Field label="Credentials" hint={HINTS[form.access]}>
        {(control) => (
          <SelectInput
            {...control}
            value={form.access}
            onChange={({ target }) => onChange({ access: target.value as Access })}
          >
            {isObject(auth) && <option value="keep">Keep the {accessText({ auth })}</option>}
            {CHOICES.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </SelectInput>
        )}
      </Field>
      {FIELDS[form.access].map(
        ({ field, path, label, hint, placeholder, isRequired, isSecret }) => (
          <Field
            key={field}
            label={label}
            hint={hint}
            required={isRequired ?? false}
            error={errors.get(path)}
          >
            {(control) => (
              <TextInput
                {...control}
                code
                {...(isSecret && { type: "password" })}
                placeholder={placeholder}
                value={form[field]}
                onChange={({ target }) => onChange({ [field]: target.value })}
              />
            )}
          </Field>
        ),
      )}
    </>
  );
}
