/** What `doctor` reports about the webhook secrets of a hub. */
export interface Finding {
  check: string;
  state: "ok" | "warning" | "problem";
  says: string;
  fix?: string;
}

export interface SharedSecrets {
  /** The sources whose endpoint without a key has a secret. */
  signed: readonly string[];
  /** Whether sources without a secret are accepted. */
  unsigned: boolean;
  /** From the settings of this terminal: no hub runs that could be asked. */
  isOfTerminal?: true;
}

/** `stored` is the number of secrets of endpoints with a key. */
export function describeSecrets(
  { signed, unsigned, isOfTerminal }: SharedSecrets,
  stored: number,
): Finding {
  const set = [
    ...(signed.length > 0 ? [`set for ${signed.join(", ")}`] : []),
    ...(stored > 0 ? [`${stored} for endpoints with a key`] : []),
  ];
  const says = [
    set.length > 0 ? set.join(", and ") : "none",
    ...(unsigned
      ? ["unsigned webhooks of sources without a secret are accepted from this machine"]
      : []),
  ]
    .join("; ")
    .concat(isOfTerminal ? " (settings of this terminal; a running hub has its own)" : "");
  if (set.length > 0 && !unsigned) return { check: "secrets", state: "ok", says };
  return { check: "secrets", state: "warning", says, fix: "set GITHUB_WEBHOOK_SECRET" };
}
