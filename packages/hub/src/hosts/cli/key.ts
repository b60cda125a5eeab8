import {
  actionOf,
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  dim,
  findRunningHub,
  green,
  print,
  UsageError,
  yellow,
} from "@signalbox/cli/src/index.ts";
import { createSeal } from "../../kernel/lib/seal.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import { loadSettings } from "../node/load-settings.ts";
import { reserveDatabase } from "../node/open-store.ts";
import { createSealKey, loadSealKeys, type SealKeys, writeSealKeys } from "../node/seal-key.ts";
import { assertKeyDecrypts, resealAll } from "../node/stored-secrets.ts";
import { assertDatabaseExists, withStore } from "./with-store.ts";

export const key: Command = {
  name: "key",
  usage: "rotate [options]",
  summary: "replace the key that encrypts stored secrets",
  details:
    "Without SIGNALBOX_KEY, stop the hub first: the command writes a new key to the file in the data folder, encrypts all stored secrets with it, and removes the former key. With SIGNALBOX_KEY, write a new key before the former one (NEW,FORMER) and restart the hub first. If the command is interrupted, run it again.",
  options: {},
  settings: ["data", "databaseUrl", "key"],
  async run({ positionals, flags }) {
    const [actionName, ...rest] = positionals;
    const action = actionOf({ rotate }, actionName, "rotate");
    assertNoMoreArguments(rest);
    await action(loadSettings(flags));
  },
};

async function rotate(settings: Settings): Promise<void> {
  if (settings.url !== undefined)
    throw new UsageError(
      "`key rotate` changes the database of a hub: run it on the machine of the hub, without --url and SIGNALBOX_URL.",
    );
  if (settings.key === undefined) return rotateKeyFile(settings);
  const keys = loadSealKeys(settings.key, settings.data);
  if (keys.length === 1)
    throw new UsageError(
      "SIGNALBOX_KEY contains one key. Write a new key (openssl rand -base64 32) and a comma before it: SIGNALBOX_KEY=NEW,FORMER. Restart the hub with this value, and run the command again.",
    );
  await withStore(settings, { create: false }, async (store) => {
    await assertDecrypts(store, keys);
    await reseal(store, keys);
  });
  print(
    dim(
      "  Remove the former key from SIGNALBOX_KEY when all hubs have the new one, and restart them.",
    ),
  );
}

/** The running hub has read the key file at its start, so it would encrypt with the former key. */
async function rotateKeyFile(settings: Settings): Promise<void> {
  const running = await findRunningHub(settings);
  if (running)
    throw new CommandFailed(
      `The hub at ${running.url} (process ${running.pid}) is running with the former key. Stop it, run the command again, and start it.`,
    );
  // `reserveDatabase` would create the folder.
  assertDatabaseExists(settings);
  const release = await reserveDatabase(settings, "Stop it, run the command again, and start it.");
  try {
    await withStore(settings, { create: false }, async (store) => {
      const stored = loadSealKeys(undefined, settings.data, { canCreate: false });
      await assertDecrypts(store, stored);
      // Several keys: the command was interrupted, and continues.
      const keys: SealKeys = stored.length > 1 ? stored : [createSealKey(), ...stored];
      writeSealKeys(settings.data, keys);
      await reseal(store, keys);
      writeSealKeys(settings.data, [keys[0]]);
    });
  } finally {
    release();
  }
  print(dim("  Start the hub again."));
}

const assertDecrypts = async (store: Store, [first, ...former]: SealKeys): Promise<void> =>
  assertKeyDecrypts(createSeal(first, former), await store.sampleSealed(), {
    acceptLostKey: false,
    // `reseal` reports the secrets that cannot be decrypted.
    log: { warn() {} },
  });

async function reseal(store: Store, keys: SealKeys): Promise<void> {
  const { resealed, unreadable } = await resealAll(store, keys);
  print(
    `${green("✓")} ${resealed} stored ${resealed === 1 ? "secret is" : "secrets are"} encrypted with the new key`,
  );
  if (unreadable > 0)
    print(
      `${yellow("!")} ${unreadable} cannot be decrypted with any of the keys: enter them again`,
    );
  print(dim("  Keep the former key with the backups that were made with it."));
}
