import { within } from '@runledger/resilience/within';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import type { DeliveredMessage } from '../read/stored-message.ts';
import type { EphemeralConsumerOptions } from './ephemeral-consumer.ts';
import { pullInOrder } from './pull-in-order.ts';

interface ReadToEnd extends Pick<EphemeralConsumerOptions, 'stream' | 'subjects' | 'headersOnly'> {
  /** The sequence before the first one; 0 when left out. */
  readonly behind?: number;
  /** Only the last message of each subject. One that changes meanwhile comes again. */
  readonly lastPerSubject?: boolean;
  /** Milliseconds without any message. */
  readonly withinMs: number;
}

/**
 * The messages of a stream in their order, up to what is the last one then. It reads ahead one batch at most, and goes on after an
 * interruption. @throws {LogUnavailable}
 */
export async function* readToEnd(log: EventLog, options: ReadToEnd): AsyncGenerator<DeliveredMessage> {
  const { behind = 0, lastPerSubject = false, withinMs, ...consumer } = options;
  const { readable, writable } = new TransformStream<
    readonly DeliveredMessage[],
    readonly DeliveredMessage[]
  >();
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  let position = behind;
  await using open = new AsyncDisposableStack();
  const pulling = open.use(
    await pullInOrder(log, {
      ...consumer,
      begin: () =>
        lastPerSubject
          ? { deliver_policy: 'last_per_subject' }
          : { deliver_policy: 'by_start_sequence', opt_start_seq: position + 1 },
      take: async (delivered) => {
        const messages = delivered.filter(({ sequence }) => sequence > position);
        position = messages.at(-1)?.sequence ?? position;
        // A reader that has left takes nothing more.
        await writer.write(messages).catch(() => undefined);
      },
      onCaughtUp: () => void writer.close().catch(() => undefined),
    }),
  );
  void pulling.failed.then((error) => writer.abort(error));
  open.defer(() => reader.cancel());
  for (;;) {
    const next = await within(withinMs, reader.read(), () => {
      throw new LogUnavailable(
        `Stream ${options.stream} could not be read on within ${withinMs} ms. Check that all brokers run, and try again.`,
      );
    });
    if (next.done) return;
    yield* next.value;
  }
}

const WITHIN_MS = 15_000;

/**
 * The last message of each subject under a filter, at most `limit`. Read with a consumer, because a direct read covers at most
 * 1,024 subjects.
 * @throws {LogUnavailable}
 */
export const lastPerSubject = async (
  log: EventLog,
  stream: string,
  filter: string,
  limit: number,
): Promise<DeliveredMessage[]> => {
  const found: DeliveredMessage[] = [];
  const options = { stream, subjects: [filter], lastPerSubject: true, withinMs: WITHIN_MS };
  for await (const message of readToEnd(log, options)) if (found.push(message) >= limit) break;
  return found;
};
