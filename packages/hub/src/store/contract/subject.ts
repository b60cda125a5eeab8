import { describe, test } from "vitest";
import type { Notice, Row } from "../sql.ts";
import type { Store } from "../store.ts";

/** A fresh, empty store of one backend, and what the suite must do with it beyond its verbs. */
export interface Subject {
  store: Store;
  /** The notices that a subscriber has heard so far. */
  heard(): Promise<Notice[]>;
  /** The same data as a restart finds it, or a second process. */
  reopen(): Promise<Store>;
  /** A store as a hub first opens it on a database that holds what these statements make, and no more. */
  reopenOn(statements: string): Promise<Store>;
  /** Looks into the database itself. */
  sql(query: string): Promise<Row[]>;
  close(): Promise<void>;
}

export type OpenSubject = () => Promise<Subject>;

export type Theme = (it: It) => void;
export type It = (promise: string, body: (subject: Subject) => Promise<void>) => void;

/** Runs the tests of one theme, each on a store of its own. */
export function describeTheme(name: string, open: OpenSubject, theme: Theme): void {
  describe(name, () => {
    theme((promise, body) => {
      test(promise, async () => {
        const subject = await open();
        try {
          await body(subject);
        } finally {
          await subject.close();
        }
      });
    });
  });
}
