import type { ChildProcess } from "node:child_process";

/**
 * Returns a function that awaits the next message of a forked process, for one caller at a time. It
 * rejects when the process ends.
 */
export function messageReader<Message>(child: ChildProcess): () => Promise<Message> {
  let waiting: PromiseWithResolvers<Message> | undefined;
  child.on("message", (message) => {
    waiting?.resolve(message as Message);
    waiting = undefined;
  });
  child.once("exit", (code, signal) => {
    waiting?.reject(new Error(`${child.spawnargs.at(-1)} ended unexpectedly (${signal ?? code})`));
  });
  return () => {
    waiting = Promise.withResolvers<Message>();
    return waiting.promise;
  };
}
