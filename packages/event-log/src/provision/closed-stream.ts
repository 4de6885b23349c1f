import type { StreamConfig } from '@nats-io/jetstream';

/** In the metadata of a stream that takes no messages. */
const CLOSED = 'runledger_closed';

/** Why a stream takes no messages: the steps of `runledger cluster migrate`. */
export type Closed = keyof typeof WHY;

const WHY = {
  moving:
    'it is being copied to other brokers. Finish that with "runledger cluster migrate", or take the log back with ' +
    '"runledger cluster migrate --back"',
  moved:
    'the log was moved to other brokers. Set NATS_URL to the new brokers. To use this one again, stop all services and run ' +
    '"runledger cluster migrate --back"',
  confirmed:
    'the log was moved to other brokers for good. Set NATS_URL to the new brokers; what is here is an old copy, which you may delete',
  copy:
    'it is a copy that is not finished, or from which the log was taken back. Use the broker that it was copied from, or run ' +
    '"runledger cluster migrate" (again)',
} as const;

/** Neither services nor `provision` use a stream that takes no messages. */
export class LogClosed extends Error {
  override readonly name = 'LogClosed';
  readonly code = 'log_closed';

  constructor(stream: string, why: Closed) {
    super(whyClosed(stream, why));
  }
}

export const whyClosed = (stream: string, why: Closed): string =>
  `Stream ${stream} takes no messages: ${WHY[why]}.`;

type Marked = Pick<StreamConfig, 'name' | 'metadata'>;

/** Undefined for a stream in use. */
export const closedAs = ({ metadata }: Marked): Closed | undefined => {
  const mark = metadata?.[CLOSED];
  // A later release may know more reasons, and none of them lets services in.
  return mark === undefined ? undefined : isKnown(mark) ? mark : 'moving';
};

const isKnown = (mark: string): mark is Closed => Object.hasOwn(WHY, mark);

/** @throws {LogClosed} */
export const refuseClosed = (config: Marked): void => {
  const why = closedAs(config);
  if (why !== undefined) throw new LogClosed(config.name, why);
};

/**
 * With these settings the broker itself refuses every message, also of a service that has been connected for long: it says that
 * nobody takes the subject, which services treat as an outage. Nobody may write to the one subject that is left.
 */
export const closedConfig = (config: Marked, why: Closed): Partial<StreamConfig> => ({
  subjects: [`closed.${config.name}`],
  metadata: { ...config.metadata, [CLOSED]: why },
});

export const openConfig = (config: Marked, subjects: readonly string[]): Partial<StreamConfig> => {
  const { [CLOSED]: _mark, ...metadata } = config.metadata ?? {};
  return { subjects: [...subjects], metadata };
};
