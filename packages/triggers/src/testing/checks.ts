/** The checks of `testTriggers`, in the order in which they run. */
import type { Callback } from "./callback-receiver.ts";
import {
  isNumber,
  type ListedTrigger,
  otherParams,
  readTrigger,
  type Values,
} from "./listed-trigger.ts";
import type { ToolAnswer } from "./mcp-calls.ts";

/** A check ends with this if the server offers nothing that it could test. */
export class Skip extends Error {}

export interface CheckContext {
  tools: readonly { name: string; inputSchema: Record<string, unknown> }[];
  list: ToolAnswer;
  /** The trigger under test, and params that its events have. */
  trigger: ListedTrigger;
  triggers: readonly ListedTrigger[];
  params: Values;
  acceptsIds: boolean;
  /** Its own connection, so that the checks do not disturb each other. */
  connection: Connection;
  otherConnection: Connection;
  token(name: string): string;
  /** The callbacks with one of the tokens of this check. */
  received(): Callback[];
  /** Callbacks of this check without one of its tokens. */
  strays(): Callback[];
  answer(status: (callback: Callback) => number): void;
  /** Waits until `count` callbacks have arrived, with this token if it is given. */
  arrived(count: number, token?: string): Promise<Callback[]>;
  /** Waits a while, and fails if another callback arrives than `arrived` has returned. */
  quiet(problem: string): Promise<void>;
}

export interface Connection {
  configure(change?: object, headers?: Record<string, string>): Promise<ToolAnswer>;
  /** Like `configure`, but fails unless the answer is `{ success: true }`. */
  enable(change?: object): Promise<void>;
  disable(change?: object): Promise<void>;
  fire(): Promise<void>;
}

export interface Check {
  name: string;
  needsFire?: true;
  run(context: CheckContext): Promise<void> | void;
}

export function assert(condition: unknown, problem: string): asserts condition {
  if (!condition) throw new Error(problem);
}

const rejected = (answer: ToolAnswer, problem: string) =>
  assert(answer.isError || answer.result.success === false, problem);

const tokensOf = (callbacks: readonly Callback[]) => callbacks.map(({ token }) => token);

/** Several subscriptions of a type exist only for servers that accept ids. */
function needIds({ acceptsIds }: CheckContext): void {
  if (!acceptsIds) throw new Skip("the server does not accept subscriptionId");
}

function otherType({ type }: ListedTrigger, triggers: readonly ListedTrigger[]): ListedTrigger {
  const found = triggers.find(
    (other) => other.type !== type && other.params.every(({ isRequired }) => !isRequired),
  );
  if (!found) throw new Skip("it has no other type without required params");
  return found;
}

export const checks: Check[] = [
  {
    name: "offers the tools TRIGGER_LIST and TRIGGER_CONFIGURE",
    run({ tools }) {
      for (const name of ["TRIGGER_LIST", "TRIGGER_CONFIGURE"])
        assert(
          tools.some((tool) => tool.name === name),
          `the tool ${name} is missing`,
        );
    },
  },
  {
    name: "describes each trigger with type, description and params",
    run({ list }) {
      assert(!list.isError, `TRIGGER_LIST failed: ${list.text}`);
      const { triggers } = list.result;
      assert(Array.isArray(triggers), "the result has no list `triggers`");
      assert(triggers.length > 0, "the list of triggers is empty");
      const types = triggers.map((entry) => readTrigger(entry).type);
      assert(new Set(types).size === types.length, "two triggers have the same type");
    },
  },
  {
    name: "accepts subscriptionId, so that a client can have several subscriptions of a type",
    run: ({ acceptsIds }) =>
      assert(acceptsIds, "the inputSchema of TRIGGER_CONFIGURE has no property subscriptionId"),
  },
  {
    name: "enables and disables a trigger",
    async run({ connection }) {
      await connection.enable();
      await connection.disable();
    },
  },
  {
    name: "needs the connection of the header x-mesh-token",
    async run({ connection }) {
      const answer = await connection.configure({}, { "x-mesh-token": "" });
      rejected(answer, "TRIGGER_CONFIGURE succeeded without it");
    },
  },
  {
    name: "rejects an unknown trigger type",
    async run({ connection }) {
      const answer = await connection.configure({ type: "no.such.type" });
      rejected(answer, 'TRIGGER_CONFIGURE succeeded for the type "no.such.type"');
    },
  },
  {
    name: "rejects wrong params, and names the field",
    async run({ connection, trigger, params }) {
      const wrong = trigger.params.find(({ values, type }) => values || isNumber(type));
      const missing = trigger.params.find(({ isRequired }) => isRequired);
      const name = wrong?.name ?? missing?.name;
      if (name === undefined) throw new Skip("every value is right for its params");
      const { [name]: _, ...rest } = params;
      const bad = wrong ? { ...rest, [name]: "no-such-value" } : rest;
      const answer = await connection.configure({ params: bad });
      rejected(answer, `TRIGGER_CONFIGURE accepted params ${JSON.stringify(bad)}`);
      assert(answer.text.includes(name), `the message does not name ${name}: ${answer.text}`);
    },
  },
  {
    name: "accepts numbers and booleans as strings",
    async run({ connection, trigger, params }) {
      const typed = trigger.params.filter(({ type }) => isNumber(type) || type === "boolean");
      if (typed.length === 0) throw new Skip("it has no params of these types");
      const strings = typed.map(({ name, type, values }) => [
        name,
        params[name] ?? values?.[0] ?? (type === "boolean" ? "true" : "1"),
      ]);
      await connection.enable({ params: { ...params, ...Object.fromEntries(strings) } });
    },
  },
  {
    name: "rejects a bad callbackUrl and an empty callbackToken",
    async run({ connection }) {
      const badUrl = await connection.configure({ callbackUrl: "not a url" });
      rejected(badUrl, 'TRIGGER_CONFIGURE accepted the callbackUrl "not a url"');
      const badToken = await connection.configure({ callbackToken: "" });
      rejected(badToken, "TRIGGER_CONFIGURE accepted an empty callbackToken");
    },
  },
  {
    name: "sends an event with token, type, data and id",
    needsFire: true,
    async run({ connection, trigger, token, received, strays, arrived }) {
      await connection.enable();
      await connection.fire();
      await arrived(1).catch((error) => {
        const { length } = strays();
        throw length > 0 ? new Error("the callback has no Authorization: Bearer TOKEN") : error;
      });
      const [callback] = received();
      assert(callback?.method === "POST", `the method is ${callback?.method}, not POST`);
      assert(
        callback.contentType.startsWith("application/json"),
        `the Content-Type is ${callback.contentType}, not application/json`,
      );
      assert(callback.token === token("main"), "the token is not the one of TRIGGER_CONFIGURE");
      const { body } = callback;
      assert(body?.type === trigger.type, `the type is ${body?.type}, not ${trigger.type}`);
      assert(
        typeof body.data === "object" && body.data !== null && !Array.isArray(body.data),
        "data is not an object",
      );
      assert(
        typeof body.id === "string" && body.id !== "",
        "the body has no id: receivers cannot ignore repeats",
      );
    },
  },
  {
    name: "does not send the events of another connection",
    needsFire: true,
    async run({ connection, otherConnection, quiet }) {
      await connection.enable();
      await otherConnection.fire();
      await quiet("an event of another connection was sent");
    },
  },
  {
    name: "does not send events that do not match the params",
    needsFire: true,
    async run({ connection, trigger, params, quiet }) {
      const other = otherParams(trigger, params);
      if (!other) throw new Skip("no other params are known");
      await connection.enable({ params: other });
      await connection.fire();
      await quiet(`a subscription to ${JSON.stringify(other)} got an event of other params`);
    },
  },
  {
    name: "does not send types that were not subscribed",
    needsFire: true,
    async run({ connection, trigger, triggers, quiet }) {
      const other = otherType(trigger, triggers);
      await connection.enable({ type: other.type, params: {} });
      await connection.fire();
      await quiet(`a subscription to ${other.type} got an event of ${trigger.type}`);
    },
  },
  {
    name: "disabling one of two triggers of a type leaves the other",
    needsFire: true,
    async run(context) {
      needIds(context);
      const { connection, token, arrived, received } = context;
      await connection.enable({ subscriptionId: "a", callbackToken: token("a") });
      await connection.enable({ subscriptionId: "b", callbackToken: token("b") });
      await connection.fire();
      await arrived(2);
      assert(
        tokensOf(received()).sort().join() === [token("a"), token("b")].sort().join(),
        "each of two subscriptions must get the event once, with its own token",
      );
      await connection.disable({ subscriptionId: "a" });
      await connection.fire();
      await arrived(3);
      assert(tokensOf(received())[2] === token("b"), "the disabled one got the event");
    },
  },
  {
    name: "disabling one type leaves the others",
    needsFire: true,
    async run({ connection, trigger, triggers, acceptsIds, arrived }) {
      const { type } = otherType(trigger, triggers);
      const other = { type, params: {}, ...(acceptsIds ? { subscriptionId: "other" } : {}) };
      await connection.enable();
      await connection.enable(other);
      await connection.disable(other);
      await connection.fire();
      await arrived(1);
    },
  },
  {
    name: "pauses and resumes",
    needsFire: true,
    async run({ connection, token, arrived, received, quiet }) {
      await connection.enable();
      await connection.disable();
      await connection.fire();
      await quiet("an event was sent while the trigger was disabled");
      await connection.enable({ callbackToken: token("resumed") });
      await connection.fire();
      await arrived(1);
      assert(tokensOf(received())[0] === token("resumed"), "the former token was used");
    },
  },
  {
    name: "keeps URL and token when it is enabled without",
    needsFire: true,
    async run({ connection, arrived }) {
      await connection.enable();
      await connection.enable({ callbackUrl: undefined, callbackToken: undefined });
      await connection.fire();
      await arrived(1);
    },
  },
  {
    name: "uses the new token after a rotation",
    needsFire: true,
    async run({ connection, token, arrived, received }) {
      await connection.enable();
      await connection.enable({ callbackToken: token("rotated") });
      await connection.fire();
      await arrived(1);
      assert(tokensOf(received())[0] === token("rotated"), "the former token was used");
    },
  },
  {
    name: "repeats a failed callback with the same id",
    needsFire: true,
    async run({ connection, answer, arrived, received }) {
      answer(() => (received().length < 2 ? 503 : 202));
      await connection.enable();
      await connection.fire();
      const [first, second] = await arrived(2);
      assert(first?.body?.id === second?.body?.id, "the second attempt has another id");
    },
  },
  {
    name: "keeps an event after 401 until a valid token arrives",
    needsFire: true,
    async run({ connection, token, answer, arrived }) {
      answer((callback) => (callback.token === token("valid") ? 202 : 401));
      await connection.enable();
      await connection.fire();
      await arrived(1);
      await connection.enable({ callbackToken: token("valid") });
      await arrived(1, token("valid")).catch(() => {
        throw new Error("the event was not sent with the new token");
      });
    },
  },
  {
    name: "stops after 410",
    needsFire: true,
    async run({ connection, answer, arrived, quiet }) {
      answer(() => 410);
      await connection.enable();
      await connection.fire();
      await arrived(1);
      await connection.fire();
      await quiet("an event was sent after the receiver had answered 410");
    },
  },
  {
    name: "sends nothing after the last trigger is disabled",
    needsFire: true,
    async run({ connection, arrived, quiet }) {
      await connection.enable();
      await connection.fire();
      await arrived(1);
      await connection.disable();
      await connection.fire();
      await quiet("an event was sent");
    },
  },
];
