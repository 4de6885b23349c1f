import { Type, type Static } from 'typebox';
import { MAX_ERROR_MESSAGE } from '../limits.ts';

/** Who takes a dead letter again; an executor by its name. */
export type Redriver = 'scheduler' | 'gateway' | `executor.${string}`;

/** Where a service answers a `RedriveQuestion`. */
export const redriveSubject = (who: Redriver): string => `request.${who}.redrive`;

/** Who stored a dead letter, by the name of the consumer; undefined for a consumer that redrives nothing. */
export const redriverOf = (consumer: string): Redriver | undefined => {
  if (consumer === 'scheduler') return 'scheduler';
  if (consumer === 'projection') return 'gateway';
  const [, name] = /^executor-([A-Za-z0-9_-]+)$/.exec(consumer) ?? [];
  return name === undefined ? undefined : `executor.${name}`;
};

/** Has a dead letter handled again, with today's code. It is named by the stream and sequence where the message is stored. */
export const RedriveRequest = Type.Object({
  stream: Type.Enum(['RUNS', 'FLEET']),
  sequence: Type.Integer({ minimum: 1 }),
  /** Of the message. An executor may read by subject only, and refuses a request without it; others do not need it. */
  subject: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
});
export type RedriveRequest = Static<typeof RedriveRequest>;

export const RedriveResponse = Type.Object({
  outcome: Type.Enum(['taken', 'refused']),
  /** The outcome, or why the message cannot be taken, for people. */
  why: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});
export type RedriveResponse = Static<typeof RedriveResponse>;
