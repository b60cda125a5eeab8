import { program } from "@signalbox/cli/src/index.ts";
import type { RetentionClock } from "../../events/retention/retention-clock.ts";
import type { DatabaseFile, DatabaseSize } from "../../kernel/store/engine.ts";

/** The result of one check of `doctor`. `--json` prints it with these fields. */
export interface Finding {
  check: string;
  state: "ok" | "warning" | "problem";
  /** The text of the finding. */
  says: string;
  fix?: string;
}

export interface SharedSecrets {
  /** The sources whose endpoint without a key has a secret. */
  signed: readonly string[];
  /** Whether webhooks of sources without a secret are accepted. */
  unsigned: boolean;
  /** Set if no hub is running: the values are then from the settings of this terminal. */
  isFromTerminal?: true;
}

/** Reports the webhook secrets of a hub. `keyedCount` is the number of secrets of endpoints with a key. */
export function describeSecrets(
  { signed, unsigned, isFromTerminal }: SharedSecrets,
  keyedCount: number,
): Finding {
  const secrets = [
    ...(signed.length > 0 ? [`set for ${signed.join(", ")}`] : []),
    ...(keyedCount > 0 ? [`${keyedCount} for endpoints with a key`] : []),
  ];
  const says = [
    secrets.length > 0 ? secrets.join(", and ") : "none",
    ...(unsigned
      ? ["unsigned webhooks of sources without a secret are accepted from this machine"]
      : []),
  ]
    .join("; ")
    .concat(isFromTerminal ? " (settings of this terminal; a running hub has its own)" : "");
  if (secrets.length > 0 && !unsigned) return { check: "secrets", state: "ok", says };
  return { check: "secrets", state: "warning", says, fix: "set GITHUB_WEBHOOK_SECRET" };
}

const DAY_MS = 24 * 3_600_000;

/** `clock` is that of the database, `wall` that of this machine. Undefined before the first start of a hub. */
export function describeRetentionClock(
  clock: RetentionClock | undefined,
  wall: number,
): Finding | undefined {
  if (!clock) return undefined;
  const days = Math.round((wall - clock.now) / DAY_MS);
  if (!clock.pending || days === 0)
    return { check: "retention", state: "ok", says: "follows the clock" };
  return {
    check: "retention",
    state: "warning",
    says: `the clock is ${Math.abs(days)} days ${days > 0 ? "ahead of" : "behind"} the time that the hub has observed; retention counts only the observed time`,
    fix: `correct the clock. If it is right, wait 24 hours, or run \`${program} doctor --accept-clock\``,
  };
}

/** A file that cannot shrink does no harm while most of it is used. */
const MAX_LOST_BYTES = 64 * 1024 ** 2;

/** `file` is undefined if the engine manages its files itself. */
export function describeSize(
  { disk, free, wal }: Pick<DatabaseSize, "disk" | "free" | "wal">,
  file: Pick<DatabaseFile, "canShrink"> | undefined,
): Finding {
  const mebibytes = (value: number) => `${(value / 1024 ** 2).toFixed(1)} MiB`;
  const says = [
    mebibytes(disk),
    ...(wal === null ? [] : [`of it WAL ${mebibytes(wal)}`]),
    ...(free === null ? [] : [`${mebibytes(free)} free`]),
  ].join(", ");
  if (file?.canShrink !== false || (free ?? 0) <= MAX_LOST_BYTES)
    return { check: "size", state: "ok", says };
  return {
    check: "size",
    state: "warning",
    says: `${says}; an earlier version created the file, so it cannot shrink`,
    fix: `stop the hub, run \`${program} compact\`, and start it again`,
  };
}
