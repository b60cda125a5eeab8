/** Structured logging as the host provides it: facts for machines, a message for people. */
export interface Log {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
