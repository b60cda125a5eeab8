import { describe, test } from "vitest";
import type { Notice, Row } from "../sql.ts";
import type { Store } from "../store.ts";

/** A new, empty store of one backend, with the operations that only tests need. */
export interface Subject {
  store: Store;
  /** The notices that a subscriber has received so far. */
  notices(): Promise<Notice[]>;
  /** Opens the same data again, as after a restart or in a second process. */
  reopen(): Promise<Store>;
  /** Opens a store on a database in which only these statements were executed. */
  reopenOn(statements: string): Promise<Store>;
  /** Queries the database directly. */
  sql(query: string): Promise<Row[]>;
  close(): Promise<void>;
}

export type OpenSubject = () => Promise<Subject>;

export type Theme = (it: It) => void;
export type It = (title: string, body: (subject: Subject) => Promise<void>) => void;

/** Runs the tests of one theme, each on a new store. */
export function describeTheme(name: string, open: OpenSubject, theme: Theme): void {
  describe(name, () => {
    theme((title, body) => {
      test(title, async () => {
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
