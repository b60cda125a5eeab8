/** A server under load. */
export interface Target {
  name: string;
  port: number;
  pid: number;
  /** Its database server, where it has one. */
  databasePid?: number;
  /** How many events it says that it has stored. */
  stored?(): Promise<number>;
  stop(): Promise<void>;
}
