import type { ChildProcess } from "node:child_process";

/** The next message of a forked process, for one who waits at a time; rejects when it ends instead. */
export function listener<News>(child: ChildProcess): () => Promise<News> {
  let waiting: PromiseWithResolvers<News> | undefined;
  child.on("message", (news) => {
    waiting?.resolve(news as News);
    waiting = undefined;
  });
  child.once("exit", (code, signal) => {
    waiting?.reject(new Error(`${child.spawnargs.at(-1)} ended too early (${signal ?? code})`));
  });
  return () => {
    waiting = Promise.withResolvers<News>();
    return waiting.promise;
  };
}
