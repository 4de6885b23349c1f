import { lifetimeProblems, type Lifetime, type Lifetimes } from '@runledger/contracts/lifetimes';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

/** The streams whose age is one of the lifetimes. */
const STREAM_AGES: Readonly<Record<string, Lifetime>> = {
  RUNS: 'log',
  DELIVERY_ATTEMPTS: 'deliveryAttempts',
  FLEET: 'fleet',
  DEAD_LETTERS: 'deadLetters',
  OBJ_OUTPUTS: 'outputs',
  BLOBS: 'blobs',
};

const NANOS_PER_MS = 1_000_000;

/**
 * At the start of a service: compares its own settings with the streams as they are. What does not fit is logged as an error,
 * and the service starts: most runs are shorter, and a refusal would stop those too. Returns the problems.
 * @throws {LogUnavailable}
 */
export const checkLifetimes = async (
  log: EventLog,
  own: Partial<Lifetimes>,
  streams: readonly string[],
): Promise<readonly string[]> => {
  const ages: Partial<Record<Lifetime, number>> = {};
  for (const stream of streams) {
    const lifetime = STREAM_AGES[stream];
    if (lifetime === undefined) continue;
    const { config } = await callBroker(`reading the age of stream ${stream}`, () =>
      log.jsm.streams.info(stream),
    );
    ages[lifetime] = config.max_age > 0 ? config.max_age / NANOS_PER_MS : Infinity;
  }
  const problems = lifetimeProblems({ ...ages, ...own });
  for (const problem of problems) log.logger.error({ problem }, 'two lifetimes do not fit');
  return problems;
};
