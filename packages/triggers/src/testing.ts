export { openCallbackReceiver } from "./testing/callback-receiver.ts";
