import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';

/** The messages in batches: each is what has come while the last one was taken. */
export async function* messageBatches(pulled: ConsumerMessages): AsyncGenerator<readonly JsMsg[]> {
  const queue = { messages: [] as JsMsg[], over: false, wake: (): void => undefined };
  const reading = (async () => {
    try {
      for await (const message of pulled) {
        queue.messages.push(message);
        queue.wake();
      }
    } finally {
      queue.over = true;
      queue.wake();
    }
  })();
  // Its error is thrown below, behind the messages that came before it.
  reading.catch(() => undefined);
  for (;;) {
    if (queue.messages.length > 0) {
      yield queue.messages.splice(0);
    } else if (queue.over) {
      await reading;
      return;
    } else {
      await new Promise<void>((resolve) => {
        queue.wake = resolve;
      });
    }
  }
}
