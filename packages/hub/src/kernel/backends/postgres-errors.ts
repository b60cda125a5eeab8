/** Classifies the errors of the driver. */
import { StorageUnavailable } from "../store/availability.ts";

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/**
 * The SQLSTATE of an error that the server sent; otherwise empty. Every SQLSTATE has a digit; `EPIPE`
 * has none.
 */
export const sqlState = (error: unknown): string =>
  /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(error)) ? codeOf(error) : "";

/** Class 22: invalid value; 23: constraint violation; 54: engine limit exceeded. */
export const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error));

/** The driver's message for `query_timeout`. The connection is still executing the statement. */
export const isQueryTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === "Query read timeout";

/** Serialization failure and deadlock: the transaction should be retried. */
export const isConflict = (error: unknown): boolean => ["40001", "40P01"].includes(sqlState(error));

/** `lock_timeout`: another transaction holds a row for too long. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === "55P03";

/** `idle_in_transaction_session_timeout`: this process did not continue its transaction in time. */
export const isIdleTimeout = (error: unknown): boolean => sqlState(error) === "25P03";

/**
 * The server has closed the connection, for example after an idle timeout; its error was not read
 * before.
 */
export const isConnectionClosed = (error: unknown): boolean =>
  ["EPIPE", "ECONNRESET"].includes(codeOf(error));

/**
 * Class 08: connection failure; 25006: read-only, for example a standby; 25P03: idle in a transaction; 53:
 * out of resources; 55P03: lock timeout; 57: canceled, shutting down or starting; 58: I/O error; XX:
 * internal error.
 */
const UNAVAILABLE = /^(08|25006|25P03|53|55P03|57|58|XX)/;

/** The server, the database or the role has no free connection. */
const isOutOfConnections = (error: unknown): boolean => sqlState(error) === "53300";

/** An error that a verb has thrown, not the driver. */
export class VerbFailed extends Error {}

/**
 * Replaces the driver's error if it means that the database is unavailable. An error without a SQLSTATE is
 * an error of the connection: refused, reset, or a timeout.
 */
export function toStorageError(error: unknown): unknown {
  if (error instanceof VerbFailed) return error.cause;
  if (!(error instanceof Error) || error instanceof StorageUnavailable) return error;
  // The driver cannot serialize a value.
  if (error instanceof RangeError || error instanceof TypeError) return error;
  const state = sqlState(error);
  if (state !== "" && !UNAVAILABLE.test(state)) return error;
  return new StorageUnavailable(messageOf(error));
}

/** The message of an error. For a refused connection, Node throws an AggregateError without a message. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isQueryTimeout(error) || error.message === "timeout exceeded when trying to connect")
    return "the database did not respond in time";
  if (isOutOfConnections(error))
    return `${error.message} (each replica opens up to 12 connections: increase max_connections of PostgreSQL, or start fewer replicas)`;
  if (isLockTimeout(error)) return "another process has locked the rows for too long";
  if (error instanceof AggregateError) return [...new Set(error.errors.map(messageOf))].join("; ");
  return error.message;
}
