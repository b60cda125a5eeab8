/** Lists the settings with which the hub was started, and the origin of each. */

import type { Setting } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Chip } from "../ui/chip.tsx";
import { TextInput } from "../ui/field.tsx";
import { Loaded } from "../ui/loaded.tsx";

export const settingsQuery = {
  queryKey: ["settings"],
  queryFn: () => api.get("/api/settings"),
  staleTime: 60_000,
  retry: false,
};

export function SettingsInForce() {
  const settings = useQuery(settingsQuery);
  return (
    <Loaded query={settings} rows={8} height={44}>
      {({ items }) => <SettingList settings={items} />}
    </Loaded>
  );
}

function SettingList({ settings }: { settings: readonly Setting[] }) {
  const [text, setText] = useState("");
  const searched = text.trim().toLowerCase();
  const matching = settings.filter(({ name, variable, help }) =>
    `${name} ${variable} ${help}`.toLowerCase().includes(searched),
  );
  return (
    <section aria-label="Settings in force">
      <div className="mb-4 flex items-center justify-between gap-4">
        <p className="text-ink-2">
          A flag overrides an environment variable, which overrides signalbox.config.json.
        </p>
        <TextInput
          type="search"
          aria-label="Search settings"
          placeholder="Search settings"
          className="max-w-[240px]"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <ul className="tile divide-y divide-line">
        {matching.map(({ name, variable, value, from, help }) => (
          <li
            key={name}
            className="grid grid-cols-[minmax(0,1.4fr)_minmax(0,1fr)_100px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-1"
          >
            <span className="min-w-0">
              <code className="wrap-anywhere block">{variable}</code>
              <span className="type-meta text-ink-3">{help}</span>
            </span>
            <code className="wrap-anywhere">{value ?? "–"}</code>
            <span className="justify-self-end">
              {from === "default" ? (
                <span className="type-meta text-ink-3">default</span>
              ) : (
                <Chip words>{from}</Chip>
              )}
            </span>
          </li>
        ))}
      </ul>
      {matching.length === 0 && <p className="py-4 text-ink-2">No setting matches this text.</p>}
    </section>
  );
}
