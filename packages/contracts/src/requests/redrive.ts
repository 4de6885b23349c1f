import { Type, type Static } from 'typebox';
import { MAX_ERROR_MESSAGE } from '../limits.ts';
import { executorOfConsumer } from './executor-consumer.ts';

/** The service that handles a dead letter again; an executor by its name. */
export type Redriver = 'scheduler' | 'gateway' | `executor.${string}`;

/** The subject on which a service answers a `RedriveRequest`. */
export const redriveSubject = (who: Redriver): string => `request.${who}.redrive`;

/** The service that wrote a dead letter, by the name of its consumer; undefined for a consumer without redrive. */
export const redriverOf = (consumer: string): Redriver | undefined => {
  if (consumer === 'scheduler') return 'scheduler';
  if (consumer === 'projection') return 'gateway';
  const name = executorOfConsumer(consumer);
  return name === undefined ? undefined : `executor.${name}`;
};

/** Requests that a dead letter is handled again, by the current release. Stream and sequence are those of the original message. */
export const RedriveRequest = Type.Object({
  stream: Type.Enum(['RUNS', 'FLEET']),
  sequence: Type.Integer({ minimum: 1 }),
  /** Of the message. Required for an executor, which may read by subject only; optional for others. */
  subject: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
});
export type RedriveRequest = Static<typeof RedriveRequest>;

export const RedriveResponse = Type.Object({
  outcome: Type.Enum(['taken', 'refused']),
  /** For people: the outcome, or why the message cannot be handled. */
  why: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});
export type RedriveResponse = Static<typeof RedriveResponse>;
