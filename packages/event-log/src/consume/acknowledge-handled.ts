import type { DeliveredMessage } from '../messages/delivered-message.ts';

/** What was handled, in the order of the stream. On disposal the broker gets the last acknowledgement. */
interface Handled extends Disposable {
  add(message: DeliveredMessage): void;
}

const ACKNOWLEDGE_EVERY_MS = 500;

/** Acknowledges the last message with all before it: each on its own would cost the broker as much as storing one. */
export const acknowledgeHandled = (): Handled => {
  let last: DeliveredMessage | undefined;
  let due: NodeJS.Timeout | undefined;
  const acknowledge = (): void => {
    due = undefined;
    try {
      last?.acknowledge();
    } catch {
      // The connection was closed. It is delivered again to whoever comes next.
    }
  };
  return {
    add: (message) => {
      last = message;
      due ??= setTimeout(acknowledge, ACKNOWLEDGE_EVERY_MS);
    },
    [Symbol.dispose]: () => {
      if (due === undefined) return;
      clearTimeout(due);
      acknowledge();
    },
  };
};
