import { describe, test } from "vitest";
import type { Store } from "../../../store.ts";
import type { Notice, Row } from "../sql.ts";

/** A new, empty store of one backend, and operations that only tests need. */
export interface Subject {
  store: Store;
  /** Returns the notices that a subscriber has received so far. */
  notices(): Promise<Notice[]>;
  /** Opens the same data again, as after a restart or in a second process. */
  reopen(): Promise<Store>;
  /** Executes these statements in an empty database, and opens a store in it. */
  reopenOn(statements: string): Promise<Store>;
  /** Queries the database directly. */
  sql(query: string): Promise<Row[]>;
  close(): Promise<void>;
}

export type OpenSubject = () => Promise<Subject>;

/** Declares the tests of a suite with `it`. */
export type Suite = (it: It) => void;
export type It = (title: string, body: (subject: Subject) => Promise<void>) => void;

/** Runs each test of a suite on a new store. */
export function describeSuite(name: string, open: OpenSubject, suite: Suite): void {
  describe(name, () => {
    suite((title, body) => {
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
