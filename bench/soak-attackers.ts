/** Starts one process per attack of soak-attacks.ts. */
import { fork } from "node:child_process";
import { trackProcess } from "./cleanup.ts";
import { createMessageReader } from "./message-reader.ts";
import type { AttackerCommand, AttackerMessage, AttackReport } from "./soak-attacker.ts";
import { type AttackTarget, attacks } from "./soak-attacks.ts";

export interface Attackers {
  /** Ends all attacks; a strike in progress counts as unfinished. */
  stop(): Promise<Map<string, AttackReport>>;
}

/** Resolves when all attacks are prepared and have started. */
export async function startAttackers(target: AttackTarget): Promise<Attackers> {
  const attackers = Object.keys(attacks).map((name) => {
    const file = new URL("./soak-attacker.ts", import.meta.url);
    const child = trackProcess(fork(file, [name]));
    const send = (command: AttackerCommand) => void child.send(command);
    return { name, child, send, nextMessage: createMessageReader<AttackerMessage>(child) };
  });
  for (const { send, nextMessage } of attackers) {
    const prepared = nextMessage();
    send(target);
    await prepared;
  }
  for (const { send } of attackers) send("start");
  return {
    async stop() {
      const reports = await Promise.all(
        attackers.map(async ({ name, child, send, nextMessage }) => {
          const report = nextMessage();
          send("stop");
          const pair = [name, (await report) as AttackReport] as const;
          child.kill("SIGKILL");
          return pair;
        }),
      );
      return new Map(reports);
    },
  };
}
