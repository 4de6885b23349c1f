import { sleep } from '@runledger/resilience/abort';
import { brokerSettings, type BrokerConfig } from '../connect/broker-config.ts';
import { openEventLog, type EventLog } from '../connect/event-log.ts';
import type { LogObserver } from '../connect/log-observer.ts';
import type { Logger } from '../connect/logger.ts';
import { NotAllowed } from '../connect/not-allowed.ts';
import { awaitProvisioned } from './provision.ts';
import type { Readiness } from '../follow/pull-in-order.ts';

/** What a service has from its first moment on. */
export interface ServiceLogOptions {
  readonly config: BrokerConfig;
  /** Shown by the broker beside the connection. */
  readonly instance: string;
  readonly logger: Logger;
  readonly observer?: LogObserver;
  /** What `/readyz` asks. */
  readonly checks: Record<string, () => Readiness | Promise<Readiness>>;
  /** The streams that have to be there first; all of them when left out. A service that may not look at streams names none, and learns at its first request whether they are there. */
  readonly streams?: readonly string[];
}

const TRY_EVERY_MS = 1_000;

/**
 * What every service opens first: the log, connected and provisioned, and the checks that say what is missing. A service may
 * start before the broker is there, before the broker knows its key, and before the log is provisioned.
 * @throws the reason of `stopping`, and ForbiddenConfiguration
 */
export const openServiceLog = async (
  beginning: ServiceLogOptions,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<EventLog> => {
  const { checks, streams } = beginning;
  const away: Readiness = { ok: false, why: 'the broker is away' };
  checks['broker'] = () => away;
  const log = open.use(await connectOnceAllowed(beginning, stopping));
  checks['broker'] = () => (log.connected() ? { ok: true } : away);
  if (streams?.length === 0) return log;
  checks['provisioned'] = () => ({
    ok: false,
    why: 'the streams and buckets of the log are not there yet; runledger provision makes them',
  });
  await awaitProvisioned(log, stopping, streams);
  checks['provisioned'] = () => ({ ok: true });
  return log;
};

/** A key that the broker does not know may be in a configuration that it has not read yet. */
const connectOnceAllowed = async (
  { config, instance, logger, observer, checks }: ServiceLogOptions,
  stopping: AbortSignal,
): Promise<EventLog> => {
  for (let said = false; ; said = true) {
    try {
      return await openEventLog(brokerSettings(config, instance), logger, stopping, observer);
    } catch (error) {
      if (!(error instanceof NotAllowed)) throw error;
      if (!said)
        logger.error({ err: error }, 'the broker does not let this service in; trying again until it does');
      checks['broker'] = () => NOT_ALLOWED;
      await sleep(TRY_EVERY_MS, stopping);
      stopping.throwIfAborted();
    }
  }
};

const NOT_ALLOWED: Readiness = {
  ok: false,
  why:
    'the broker does not let this service in: its key is not in the configuration that the broker has read; ' +
    'runledger broker-config makes both',
};
