import type { ChildProcess } from "node:child_process";

/**
 * Returns a function that waits for the next message of a forked process. Only one call at a time may
 * wait. The call rejects when the process ends.
 */
export function createMessageReader<Message>(child: ChildProcess): () => Promise<Message> {
  let pendingRead: PromiseWithResolvers<Message> | undefined;
  child.on("message", (message) => {
    pendingRead?.resolve(message as Message);
    pendingRead = undefined;
  });
  child.once("exit", (code, signal) => {
    pendingRead?.reject(
      new Error(`${child.spawnargs.at(-1)} ended unexpectedly (${signal ?? code})`),
    );
  });
  return () => {
    pendingRead = Promise.withResolvers<Message>();
    return pendingRead.promise;
  };
}
